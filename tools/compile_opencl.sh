# Compile OpenCL sources of a folder to gfx906 assembly beside them: sh tools/compile_opencl.sh FOLDER [STANDARD]
# LLVM 19 is wanted (Debian and Ubuntu: clang-19), as another version makes other code.
set -eu
CLANG=${CLANG:-clang-19}
if ! command -v "$CLANG" > /dev/null; then
    echo "no $CLANG: install clang of LLVM 19, or say where it is: CLANG=/usr/lib/llvm-19/bin/clang make opencl" >&2
    exit 1
fi
cd "$1"
for source in *.cl; do
    "$CLANG" -target amdgcn-amd-amdhsa -mcpu=gfx906 -nogpulib -x cl -cl-std="${2:-CL1.2}" -O3 -Wno-pass-failed -S \
        "$source" -o - | grep -v '^[[:space:]]*\.ident' > "${source%.cl}.s"
done
