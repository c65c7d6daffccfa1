# The lit suite: one behaviour a file, FileCheck with scoped variables.
import importlib.util
import os
import shutil
import subprocess

import lit.formats
import lit.util

config.name = "llmmem"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "lit.cfg.py", "lit.site.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "test")

# Under the preset sanitize-mlir, LLVM's allocators poison memory in headers that we compile, and libMLIR, which is not
# instrumented, hands it out without lifting the poison.
config.environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "allow_user_poisoning=0")
config.environment["LLMMEM_BUILD"] = config.build_root
config.environment["PATH"] = os.pathsep.join(
    [config.build_root + "/bin", config.llvm_tools, config.environment["PATH"]])
# Most tests run plans of the same few models, so a kernel is compiled once for all of them. What another build of llmmem-run
# has compiled, it does not read.
code = os.path.join(config.test_exec_root, "code")
program = os.path.join(config.build_root, "bin", "llmmem-run")
if os.path.exists(program) and os.path.exists(code) and os.path.getmtime(code) < os.path.getmtime(program):
    shutil.rmtree(code, ignore_errors=True)
# A run uses no folder that others can write to, whatever the umask is.
if "LLMMEM_CODE_CACHE" not in os.environ:
    os.makedirs(code, 0o700, exist_ok=True)
    os.chmod(code, 0o700)
config.environment["LLMMEM_CODE_CACHE"] = os.environ.get("LLMMEM_CODE_CACHE", code)
config.substitutions.append(("%configs", config.source_root + "/examples/configs"))
config.substitutions.append(("%examples", config.source_root + "/examples"))
config.substitutions.append(("%source_root", config.source_root))
config.substitutions.append(("%build_root", config.build_root))
config.substitutions.append(("%python", config.python))
# Projects outside of the tree are built with these.
config.substitutions.append(("%cmake", config.cmake))
config.substitutions.append(("%llvm_include", config.llvm_prefix + "/include"))
config.substitutions.append(("%llvm_lib", config.llvm_prefix + "/lib"))
config.substitutions.append((r"%cc\b", config.cc))
config.substitutions.append((r"%cxx\b", config.cxx))
config.substitutions.append(("%ptx", config.python + " " + config.test_source_root + "/ptx.py"))
# %refuse CODE MESSAGE... -- COMMAND...: see the script.
config.substitutions.append((r"%refuse\b", config.python + " " + config.test_source_root + "/Refused/Inputs/check-exit.py"))
config.substitutions.append(("%fake_cublaslt", config.build_root + "/lib/libllmmem-fake-cublaslt.so"))
config.substitutions.append(("%fake_nccl", config.build_root + "/lib/libllmmem-fake-nccl.so"))
config.substitutions.append(("%fake_cuda", config.build_root + "/lib/libllmmem-fake-cuda.so"))
# A variable that a later CHECK-LABEL section reads by mistake is a test that cannot fail.
config.substitutions.append((r"\bFileCheck\b", "FileCheck -enable-var-scope"))

# Third-party data for tests; tests that need it say REQUIRES: llmmem-data and are counted as skipped without it.
data = os.environ.get("LLMMEM_DATA", os.path.join(config.source_root, "..", "shared", "data"))
if os.path.isdir(os.path.join(data, "golden")):
    config.available_features.add("llmmem-data")
    config.substitutions.append(("%data", os.path.abspath(data)))
    if os.path.isdir(os.path.join(data, "field", "configs")):
        config.available_features.add("llmmem-field")

# Sweeps that need hours say REQUIRES: long; utils/check --long runs them.
if os.environ.get("LLMMEM_LONG"):
    config.available_features.add("long")

# Implementations of MPI; tests of one say REQUIRES: openmpi or mpich and are counted as skipped without it. %mpirun-NAME
# starts more ranks than there are cores, and as root, as containers do.
for name, launcher, options in (("openmpi", "mpirun.openmpi", "--oversubscribe --bind-to none"), ("mpich", "mpirun.mpich", "")):
    program = shutil.which(launcher)
    if program and name in config.transports:
        config.available_features.add(name)
        config.substitutions.append((f"%mpirun-{name}", f"{program} {options}".strip()))
config.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="self,vader,tcp",
                          OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo")

# The emulator of GPUs needs Boost.Context.
if config.emulator:
    config.available_features.add("emulator")

# Tokenizers need ICU.
if config.tokenizers:
    config.available_features.add("tokenizers")

# The runtime of the address sanitizer (libclang-rt-22-dev); tests that need it are counted as skipped without it.
if subprocess.run([config.cc, "-fsanitize=address", "-x", "c", "-", "-o", os.devnull], input=b"int main(void) { return 0; }",
                  capture_output=True).returncode == 0:
    config.available_features.add("asan")

# A root folder of one's own, for what must run where nothing else is; %{chroot} runs a command in it.
for words in ("chroot", "unshare --user --map-root-user chroot"):
    if subprocess.run([*words.split(), "/", "true"], capture_output=True).returncode == 0:
        config.available_features.add("chroot")
        config.substitutions.append((r"%\{chroot\}", words))
        break

# Files of other users, which root alone can make; tests that need them are counted as skipped without it.
if os.geteuid() == 0:
    config.available_features.add("root")

# Python packages; tests that need one say REQUIRES: with its name and are counted as skipped without it.
for package in ("numpy", "scikit_build_core"):
    if importlib.util.find_spec(package):
        config.available_features.add(package.replace("_", "-"))

# D3, which draws the page of llmmem-study; tests of the page are counted as skipped without it.
if os.path.exists(os.environ.get("LLMMEM_D3", "/usr/share/nodejs/d3/dist/d3.min.js")):
    config.available_features.add("d3")

config.substitutions.append(("%{kills}", "50" if "long" in config.available_features else "3"))

# The CUDA toolkit's assembler; tests that need it say REQUIRES: ptxas and are counted as skipped without it.
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path=os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append((r"\bptxas_path\b", ptxas))
