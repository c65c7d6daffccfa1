// Functions of f64 for a device without libm, against libm: the largest error in hundredths of a unit in the last place.
// RUN: llmmem-opt %s --expand-kernel-numbers=device | FileCheck %s --check-prefix=EXPANDED
// RUN: llmmem-opt %s --expand-kernel-numbers=device --convert-kernels-to-llvm -o %t.mlir
// RUN: mlir-runner %t.mlir -e worst_sine -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_cosine -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_power -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-FEW
// RUN: mlir-runner %t.mlir -e powers_as_f32 -entry-point-result=i64 | FileCheck %s --check-prefix=NONE

// EXPANDED-NOT: math.sin
// EXPANDED-NOT: math.cos
// EXPANDED-NOT: math.powf
// WITHIN-TWO: {{^1?[0-9]?[0-9]$}}
// Powers have an error for each bit of the exponent and each doubling of it: of 10,000 steps some hundred units.
// WITHIN-FEW: {{^[0-9]?[0-9]?[0-9]?[0-9]?[0-9]$}}
// NONE: {{^0$}}

func.func private @sin(f64) -> f64
func.func private @cos(f64) -> f64
func.func private @pow(f64, f64) -> f64

// |a - b| / (|b| 2^-52), in hundredths.
func.func private @error(%a: f64, %b: f64) -> i64 {
  %scale = arith.constant 4.503599627370496e+17 : f64
  %difference = arith.subf %a, %b : f64
  %absolute = math.absf %difference : f64
  %size = math.absf %b : f64
  %relative = arith.divf %absolute, %size : f64
  %units = arith.mulf %relative, %scale : f64
  %whole = arith.fptosi %units : f64 to i64
  return %whole : i64
}

// Angles of positions up to 10^6, odd fractions of a turn apart.
func.func private @angle(%i: index) -> f64 {
  %step = arith.constant 9.87654321 : f64
  %first = arith.constant 0.000123 : f64
  %whole = arith.index_cast %i : index to i64
  %number = arith.sitofp %whole : i64 to f64
  %product = arith.mulf %number, %step : f64
  %sum = arith.addf %product, %first : f64
  return %sum : f64
}

func.func @worst_sine() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  %none = arith.constant 0 : i64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %x = func.call @angle(%i) : (index) -> f64
    %own = math.sin %x : f64
    %reference = func.call @sin(%x) : (f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

func.func @worst_cosine() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100000 : index
  %none = arith.constant 0 : i64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %x = func.call @angle(%i) : (index) -> f64
    %own = math.cos %x : f64
    %reference = func.call @cos(%x) : (f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

func.func @worst_power() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10000 : index
  %none = arith.constant 0 : i64
  %beta = arith.constant 0.999 : f64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %whole = arith.index_cast %i : index to i32
    %t = arith.sitofp %whole : i32 to f64
    %own = math.powf %beta, %t : f64
    %reference = func.call @pow(%beta, %t) : (f64, f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

// How many of the optimizer's corrections, 1 - beta^t rounded to f32, differ from libm's.
func.func @powers_as_f32() -> i64 {
  %c1 = arith.constant 1 : index
  %n = arith.constant 10000 : index
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %unit = arith.constant 1.0 : f64
  %beta = arith.constant 0.999 : f64
  %count = scf.for %i = %c1 to %n step %c1 iter_args(%so_far = %none) -> i64 {
    %whole = arith.index_cast %i : index to i32
    %t = arith.sitofp %whole : i32 to f64
    %own = math.powf %beta, %t : f64
    %reference = func.call @pow(%beta, %t) : (f64, f64) -> f64
    %a = arith.subf %unit, %own : f64
    %b = arith.subf %unit, %reference : f64
    %a32 = arith.truncf %a : f64 to f32
    %b32 = arith.truncf %b : f64 to f32
    %differ = arith.cmpf une, %a32, %b32 : f32
    %more = arith.addi %so_far, %one : i64
    %next = arith.select %differ, %more, %so_far : i64
    scf.yield %next : i64
  }
  return %count : i64
}
