//===- BoundMessages.h - An editor's messages, within bounds ----------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_LSP_SERVER_BOUNDMESSAGES_H
#define LLMMEM_TOOLS_LLMMEM_LSP_SERVER_BOUNDMESSAGES_H

namespace llmmem {

/// Filters stdin: from now on it has the editor's messages with programs that MLIR's parser has
/// the stack for (Support/ProgramText.h). A deeper program is replaced by a text with an unknown op
/// at the place of what is too much, and its name says what, so that the editor shows it there. A
/// message that is nested too deeply itself is dropped. Returns false where the system gives no
/// pipe.
bool boundMessages();

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_LSP_SERVER_BOUNDMESSAGES_H
