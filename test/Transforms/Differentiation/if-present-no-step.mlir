// RUN: llmmem-opt --differentiate=if-present --verify-diagnostics %s

// Where neither a loss nor a step is, nothing is left for the passes that come next.
// expected-error @below {{has no @step and no @forward; import a model, or run --differentiate on one with @loss}}
module {
}
