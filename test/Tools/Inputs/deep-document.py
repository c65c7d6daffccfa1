#!/usr/bin/env python3
"""Opens documents in llmmem-lsp-server as an editor does, and prints what it says of them."""

import json
import subprocess

DEEP = "module {\n" * 20000 + "}\n" * 20000


def document(method, name, text):
    target = {"uri": f"test:///{name}.mlir", "languageId": "mlir", "version": 1}
    if method == "didOpen":
        return {"method": "textDocument/didOpen", "params": {"textDocument": {**target, "text": text}}}
    return {"method": "textDocument/didChange", "params": {"textDocument": {**target, "version": 2}, "contentChanges": [{"text": text}]}}


MESSAGES = [{"id": 0, "method": "initialize", "params": {"processId": 1, "rootPath": "", "capabilities": {}, "trace": "off"}},
            document("didOpen", "deep", DEEP), document("didOpen", "again", "module {}\n"), document("didChange", "again", DEEP),
            {"id": 1, "method": "shutdown"}, {"method": "exit"}]
sent = b""
for message in MESSAGES:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sent += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
server = subprocess.run(["llmmem-lsp-server"], input=sent, capture_output=True, timeout=60)
rest = server.stdout
while rest:
    header, _, rest = rest.partition(b"\r\n\r\n")
    length = int(header.split(b":")[1])
    said, rest = json.loads(rest[:length]), rest[length:].lstrip(b"\r\n")
    if said.get("method") == "textDocument/publishDiagnostics":
        shown = said["params"]
        for fault in shown["diagnostics"]:
            start = fault["range"]["start"]
            print(f"{shown['uri']} line {start['line']} character {start['character']}: {fault['message']}")
        if not shown["diagnostics"]:
            print(f"{shown['uri']}: no diagnostics")
print("exit code", server.returncode)
