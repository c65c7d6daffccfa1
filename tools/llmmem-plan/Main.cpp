//===- Main.cpp - The planner as a program of its own -----------------------===//

#include "Tools.h"

int main(int argc, char **argv) { return llmmem::planMain(argc, argv); }
