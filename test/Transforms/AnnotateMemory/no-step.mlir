// RUN: llmmem-opt --annotate-memory --verify-diagnostics %s

// expected-error @below {{has no @step and no @forward; import a model, or run --differentiate on one with @loss}}
module {
  func.func private @a() -> ()
  func.func private @b() -> ()
}
