#!/usr/bin/env python3
"""Whether each kernel of a bundle is in every image of its module: image_names.py BUNDLE.json CHIP..."""

import json
import os
import subprocess
import sys


def functions_of(path):
    lines = subprocess.run(["readelf", "-sW", path], check=True, text=True, capture_output=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if " FUNC " in line}


def main():
    path, *chips = sys.argv[1:]
    with open(path) as file:
        bundle = json.load(file)
    folder, found = os.path.join(os.path.dirname(path), bundle["kernels"]), 0
    for program in bundle["programs"]:
        for kernel in program["kernels"]:
            images = program["modules"][kernel["module"]]["images"]
            if [image["chip"] for image in images] != chips:
                sys.exit(f"{kernel['name']} has images for {[image['chip'] for image in images]}, expected {chips}")
            for image in images:
                if not image["file"].endswith(f".{image['chip']}.cubin") or kernel["name"] not in functions_of(os.path.join(folder, image["file"])):
                    sys.exit(f"{image['file']} has no {kernel['name']}")
                found += 1
    print(f"{found} kernels are in their images")


if __name__ == "__main__":
    main()
