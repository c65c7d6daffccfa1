// RUN: llmmem-opt --differentiate=if-present --verify-diagnostics %s

// Where neither a loss nor a step is, nothing is left for the passes that come next.
// expected-error @below {{has no @step, @forward or @main; import a model, run --differentiate on one with @loss, or name its function: --entry=NAME}}
module {
}
