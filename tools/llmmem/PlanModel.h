//===- PlanModel.h - From a config.json to a plan in one command *- C++ -*-===//

#ifndef LLMMEM_TOOLS_LLMMEM_PLANMODEL_H
#define LLMMEM_TOOLS_LLMMEM_PLANMODEL_H

namespace llmmem {

/// Is `llmmem plan`: where one of the arguments is a model's config.json, imports the model, plans
/// its step and prints the memory report; else is llmmem-plan.
int planAnyMain(int argc, char **argv);

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_PLANMODEL_H
