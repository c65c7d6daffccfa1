"""try-wheel.py: uses what the wheel in /site has, as one who has just installed it. Ends with the first thing that fails."""

import os
import subprocess
import sys

sys.path.insert(0, "/site")


def llmmem(*arguments):
    """Returns what the program prints."""
    env = {**os.environ, "PATH": "/site/bin", "PYTHONPATH": "/site"}
    done = subprocess.run(["/site/bin/llmmem", *arguments], capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        sys.exit(f"llmmem {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main():
    os.chdir("/tmp")
    config = "/configs/tiny-gpt2.json"
    assert "124439808" in llmmem("import", "/configs/gpt2.json", "--count-parameters")
    assert "yes" in llmmem("fit", config, "--gpu", "24GB", "--seq", "32", "--seconds", "0.1")
    assert "resident+arena" in llmmem("plan", config, "--budget", "min", "--batch", "2", "--seq", "32", "-o", "step.mlir")
    with open("text", "w", encoding="utf-8") as text:
        text.write("a step that learns to write these words again and again\n" * 40)
    trained = llmmem("run", "step.mlir", "--steps", "10", "--data", "text")
    assert "step 10" in trained and "by generated code, as no oneDNN was found" in trained, trained
    llmmem("opt", "--allow-unregistered-dialect", "--checkpoint-budget=min", "/barrier.mlir", "-o", "planned.mlir")
    llmmem("study", config, "--batch", "2", "--seq", "32", "--budgets", "2", "--seconds", "0.1", "-o", "study.html")
    with open("study.html", encoding="utf-8") as page:
        assert "d3js.org" in page.read()
    import llmmem as package
    plan = package.plan(package.Problem([package.Value(5)] * 2, [package.Op([0], [1])], [1]), "1kB")
    assert plan.arena == 10, plan


if __name__ == "__main__":
    main()
