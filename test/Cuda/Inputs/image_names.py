#!/usr/bin/env python3
"""Whether each kernel of a bundle is in every image of its module: image_names.py BUNDLE.json CHIP...

Programs with the same products are for different chips, together for those given, and all their kernels are for the same ones.
"""

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
    covered = {}
    for program in bundle["programs"]:
        own = [image["chip"] for image in program["modules"][0]["images"]]
        covered.setdefault(program["products"], []).extend(own)
        for kernel in program["kernels"]:
            images = program["modules"][kernel["module"]]["images"]
            if [image["chip"] for image in images] != own:
                sys.exit(f"{kernel['name']} has images for {[image['chip'] for image in images]}, expected {own}")
            for image in images:
                if not image["file"].endswith(f".{image['chip']}.cubin") or kernel["name"] not in functions_of(os.path.join(folder, image["file"])):
                    sys.exit(f"{image['file']} has no {kernel['name']}")
                found += 1
    for products, own in covered.items():
        if own != chips:
            sys.exit(f"programs with products '{products}' have images for {own}, expected {chips}")
    print(f"{found} kernels are in their images")


if __name__ == "__main__":
    main()
