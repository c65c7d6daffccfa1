// RUN: llmmem-opt --annotate-memory --verify-diagnostics %s

// expected-error @below {{has no @step, @forward or @main; import a model, run --differentiate on one with @loss, or name its function: --entry=NAME}}
module {
  func.func private @a() -> ()
  func.func private @b() -> ()
}
