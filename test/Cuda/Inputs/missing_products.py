"""missing_products.py planned.mlir OUT EPILOGUE...: the planned step as for a library without algorithms for such epilogues.

Writes the module with `llm.missing_products`, of the forms among its products by a library whose epilogue is named (`bias`,
`gelu_bias`, ..., `none`). Shares nothing with what asks a library.
"""
import re
import subprocess
import sys

EPILOGUES = ["none", "bias", "gelu_bias", "gelu_aux_bias", "gelu_grad", "gelu_grad_sum", "sum_b", "sum_a"]
PRODUCT = re.compile(r'^ *"llm\.library_product"\(.*?\) <\{(.*)\}>(?: \{.*\})? : \((.*)\) -> \(\)', re.M)


def form(properties, types):
    buffers = re.findall(r"memref<(?:(\d+)x)?(\w+?)>", types)
    elements = ", ".join(element for _, element in buffers)
    segments = re.search(r"operandSegmentSizes = array<i32: ([-\d, ]+)>", properties).group(1)
    workspace = f", workspace_bytes = {buffers[-1][0]} : i64" if segments.split(", ")[-1] == "1" else ""
    return f"{{{properties}, elements = [{elements}]{workspace}}}"


def write(planned, out, epilogues):
    """Returns how many forms are missing."""
    generic = subprocess.run(["llmmem-opt", "--convert-step-to-kernels=target=gpu products=library", "--mlir-print-op-generic", planned],
                             capture_output=True, text=True, check=True).stdout
    aliases = dict(re.findall(r"^(#\w+) = (.*)$", generic, re.M))
    forms = {re.sub(r"#\w+", lambda name: aliases.get(name.group(), name.group()), form(*match.groups()))
             for match in PRODUCT.finditer(generic)}
    numbers = "|".join(str(EPILOGUES.index(name)) for name in epilogues)
    missing = sorted(text for text in forms if re.search(rf"epilogue = ({numbers}) : i64", text))
    body, count = re.subn(r"^module attributes \{", lambda start: start.group() + f"llm.missing_products = [{', '.join(missing)}], ",
                          open(planned).read(), count=1, flags=re.M)
    if count != 1:
        sys.exit("expected a plan in a module with attributes")
    open(out, "w").write(body)
    return len(missing)


if __name__ == "__main__":
    print(f"{write(sys.argv[1], sys.argv[2], sys.argv[3:])} forms missing")
