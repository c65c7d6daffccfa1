// Functions of f64 for a device without libm, against libm: the largest error in hundredths of a unit in the last place.
// RUN: llmmem-opt %s --expand-kernel-numbers=device | FileCheck %s --check-prefix=EXPANDED
// RUN: llmmem-opt %s --expand-kernel-numbers=device --convert-kernels-to-llvm -o %t.mlir
// RUN: mlir-runner %t.mlir -e worst_sine -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_cosine -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_exp -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_log -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-TWO
// RUN: mlir-runner %t.mlir -e worst_tanh -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-THREE
// RUN: mlir-runner %t.mlir -e specials -entry-point-result=i64 | FileCheck %s --check-prefix=NONE
// RUN: mlir-runner %t.mlir -e worst_power -entry-point-result=i64 | FileCheck %s --check-prefix=WITHIN-FEW
// RUN: mlir-runner %t.mlir -e powers_as_f32 -entry-point-result=i64 | FileCheck %s --check-prefix=NONE

// EXPANDED-NOT: math.sin
// EXPANDED-NOT: math.cos
// EXPANDED-NOT: math.powf
// EXPANDED-NOT: math.exp
// EXPANDED-NOT: math.log
// EXPANDED-NOT: math.tanh
// WITHIN-THREE: {{^[12]?[0-9]?[0-9]$}}
// WITHIN-TWO: {{^1?[0-9]?[0-9]$}}
// Powers have an error for each bit of the exponent and each doubling of it: of 10,000 steps some hundred units.
// WITHIN-FEW: {{^[0-9]?[0-9]?[0-9]?[0-9]?[0-9]$}}
// NONE: {{^0$}}

func.func private @sin(f64) -> f64
func.func private @cos(f64) -> f64
func.func private @pow(f64, f64) -> f64
func.func private @exp(f64) -> f64
func.func private @log(f64) -> f64
func.func private @tanh(f64) -> f64

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

// From -700 to 700.
func.func private @exponent(%i: index) -> f64 {
  %step = arith.constant 0.0070001234 : f64
  %first = arith.constant -700.0 : f64
  %whole = arith.index_cast %i : index to i64
  %number = arith.sitofp %whole : i64 to f64
  %product = arith.mulf %number, %step : f64
  %sum = arith.addf %product, %first : f64
  return %sum : f64
}

// From e^-350 to e^350, and so also near 1.
func.func private @positive(%i: index) -> f64 {
  %half = arith.constant 0.5 : f64
  %x = func.call @exponent(%i) : (index) -> f64
  %y = arith.mulf %x, %half : f64
  %power = func.call @exp(%y) : (f64) -> f64
  return %power : f64
}

// From -28 to 28, by powers near 0.
func.func private @angle_of_tanh(%i: index) -> f64 {
  %scale = arith.constant 8.0e-8 : f64
  %x = func.call @exponent(%i) : (index) -> f64
  %square = arith.mulf %x, %x : f64
  %cube = arith.mulf %square, %x : f64
  %y = arith.mulf %cube, %scale : f64
  return %y : f64
}

func.func @worst_exp() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 200000 : index
  %none = arith.constant 0 : i64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %x = func.call @exponent(%i) : (index) -> f64
    %own = math.exp %x : f64
    %reference = func.call @exp(%x) : (f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

func.func @worst_log() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 200000 : index
  %none = arith.constant 0 : i64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %x = func.call @positive(%i) : (index) -> f64
    %own = math.log %x : f64
    %reference = func.call @log(%x) : (f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

func.func @worst_tanh() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 200000 : index
  %none = arith.constant 0 : i64
  %worst = scf.for %i = %c0 to %n step %c1 iter_args(%most = %none) -> i64 {
    %x = func.call @angle_of_tanh(%i) : (index) -> f64
    %own = math.tanh %x : f64
    %reference = func.call @tanh(%x) : (f64) -> f64
    %error = func.call @error(%own, %reference) : (f64, f64) -> i64
    %next = arith.maxsi %most, %error : i64
    scf.yield %next : i64
  }
  return %worst : i64
}

// How many of the special values differ from libm's; a NaN is as good as another.
func.func @specials() -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 9 : index
  %none = arith.constant 0 : i64
  %values = arith.constant dense<[0.0, -0.0, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 1000.0, -1000.0,
                                  1.0e-310, -1.0]> : vector<9xf64>
  %count = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %none) -> i64 {
    %x = vector.extract %values[%i] : f64 from vector<9xf64>
    %exp = math.exp %x : f64
    %exp_of_libm = func.call @exp(%x) : (f64) -> f64
    %one = func.call @differ(%exp, %exp_of_libm) : (f64, f64) -> i64
    %log = math.log %x : f64
    %log_of_libm = func.call @log(%x) : (f64) -> f64
    %two = func.call @differ(%log, %log_of_libm) : (f64, f64) -> i64
    %tanh = math.tanh %x : f64
    %tanh_of_libm = func.call @tanh(%x) : (f64) -> f64
    %three = func.call @differ(%tanh, %tanh_of_libm) : (f64, f64) -> i64
    %a = arith.addi %one, %two : i64
    %b = arith.addi %a, %three : i64
    %next = arith.addi %so_far, %b : i64
    scf.yield %next : i64
  }
  return %count : i64
}

func.func private @differ(%a: f64, %b: f64) -> i64 {
  %bits = arith.bitcast %a : f64 to i64
  %other_bits = arith.bitcast %b : f64 to i64
  %unequal = arith.cmpi ne, %bits, %other_bits : i64
  %is_number = arith.cmpf ord, %a, %b : f64
  %a_nan = arith.cmpf uno, %a, %a : f64
  %b_nan = arith.cmpf uno, %b, %b : f64
  %mixed = arith.xori %a_nan, %b_nan : i1
  %wrong = arith.andi %unequal, %is_number : i1
  %any = arith.ori %wrong, %mixed : i1
  %result = arith.extui %any : i1 to i64
  return %result : i64
}
