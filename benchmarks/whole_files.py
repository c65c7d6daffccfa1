"""Files that are whole or absent, for scripts that run without llmmem's package."""
import os


def write_text(path, text):
    """Through PATH.new, which takes the place of `path`; two writers of one path must take turns."""
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)
