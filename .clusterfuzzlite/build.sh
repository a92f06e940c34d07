#!/bin/bash -eu
pip3 install -c constraints.txt '.[boosting,files]'
compile_python_fuzzer fuzz/load.py
