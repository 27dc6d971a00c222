#!/usr/bin/env bash
# Tests and measures perflab on the GPU of this machine, in at most 8 minutes, and prints a table. Nothing is downloaded.
#
#   tests/cuda/run_on_gpu.sh            with python3, its NumPy and CuPy, and its PyTorch where it has one
#   PYTHON=python3.12 tests/cuda/run_on_gpu.sh
#
# The core is built from this checkout into build/gpu. What the machine's Python lacks is taken from the checkout's .venv
# where that is of the same Python, else from tests/cuda/stand_ins. A part that fails does not stop the others, and all of
# them are told at the end. A fake driver and kernels for the host, FAKE=1, try the script itself out where there is no
# GPU: its figures mean nothing then.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
seconds_left() { echo $((480 - SECONDS)); }
fail() { echo "run_on_gpu: $*" >&2; exit 1; }

version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "there is no $python"
spare=.venv/lib/python$version/site-packages
has() { PYTHONPATH=$path $python -c "import $1" 2>/dev/null; }
troubles=""
part() { # NAME, SECONDS AT MOST, COMMAND...
  local name=$1 limit=$2 status=0
  shift 2
  [ "$limit" -lt "$(seconds_left)" ] || limit=$(seconds_left)
  [ "$limit" -gt 0 ] || { troubles="$troubles, $name (no time was left)"; return 0; }
  timeout "$limit" "$@" || status=$?
  case $status in
    0) ;;
    124) troubles="$troubles, $name (ended after $limit s)" ;;
    *) troubles="$troubles, $name" ;;
  esac
}

# The machine's own packages come first: what is missing there is found behind them.
out=$PWD/build/gpu/$version
rm -rf "$out/spare" "$out/site"
mkdir -p "$out/spare" "$out/site/perflab/runtime" "$out/objects"
path=$out/site
packages="nanobind ml_dtypes scipy_openblas32 isal orjson zstandard rich numpy numpy.libs nvidia"
packages="$packages pytest _pytest pluggy iniconfig packaging pygments hypothesis sortedcontainers attr"
for package in $packages; do
  $python -c "import $package" 2>/dev/null && continue
  for place in "$spare/$package" "tests/cuda/stand_ins/$package" "tests/cuda/stand_ins/$package.py"; do
    [ ! -e "$place" ] || { ln -sfn "$PWD/$place" "$out/spare/$(basename "$place")"; break; }
  done
  [ "${place#tests}" = "$place" ] || [ ! -e "$place" ] || echo "$package: a stand-in"
done
path=$out/site:$out/spare
for package in numpy ml_dtypes scipy_openblas32 isal orjson rich; do
  has $package || fail "$python has no $package, and neither has $spare: install it, or run make build"
done

if [ "${FAKE:-}" != 1 ]; then
  command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
  has cupy || fail "$python has no CuPy: pip install cupy-cuda12x or cupy-cuda13x"
fi

# --- the core, compiled as CMakeLists.txt does; a core that was built for this Python is taken as it is
core=_core$($python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
if [ -e "$spare/perflab/runtime/$core" ]; then
  cp "$spare/perflab/runtime/$core" "$out/site/perflab/runtime/$core"
  echo "the core: that of $spare"
else
  has nanobind || fail "$python has no nanobind to build with, and neither has $spare"
  compiler=${CXX:-g++}
  nanobind=$(PYTHONPATH=$path $python -c 'import nanobind, pathlib; print(pathlib.Path(nanobind.__file__).parent)')
  headers=$($python -c 'import sysconfig; print(sysconfig.get_path("include"))')
  flags="-O3 -DNDEBUG -std=c++20 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-math-errno -fno-trapping-math"
  flags="$flags -falign-functions=64 -ftls-model=initial-exec -Iruntime/core -I$nanobind/include -I$nanobind/ext/robin_map/include -I$headers"
  echo "building the core with $compiler"
  object() {
    case $1 in
      */random.cpp) extra=-ffp-contract=off ;;
      */gil_hooks.cpp) [ "$(uname -m)" = x86_64 ] && extra=-fcf-protection=full || extra= ;;
      *) extra= ;;
    esac
    to=$out/objects/$(echo "$1" | tr / _).o
    [ "$to" -nt "$1" ] || $compiler $flags $extra -c "$1" -o "$to"
  }
  export -f object
  export compiler flags out
  { find runtime/core -name '*.cpp'; echo "$nanobind/src/nb_combined.cpp"; } |
    xargs -P "$(nproc)" -I{} bash -c 'set -e; object {}' || fail "the core does not build"
  $compiler -shared -o "$out/site/perflab/runtime/$core" "$out"/objects/*.o -ldl -lpthread -Wl,-z,nodelete
fi
for package in profiler benchmarks; do ln -sfn "$PWD/$package" "$out/site/perflab/$package"; done
for item in runtime/*; do
  [ "$item" = runtime/core ] || ln -sfn "$PWD/$item" "$out/site/perflab/$item"
done
export PYTHONPATH=$path PERFLAB_CACHE=$out/cache PYTHONDONTWRITEBYTECODE=1

# --- figures, each part in a process of its own, then the tests with the time that is left
measure=tests/cuda/measure.py
if [ "${FAKE:-}" = 1 ]; then
  part figures 480 $python $measure ops mlp_tiny
else
  part kernels 120 $python $measure kernels
  for name in ops mlp_tiny mlp_medium transformer; do part $name 60 $python $measure $name; done
  if has pytest; then
    has xdist && parallel="-n 4" || parallel=
    part tests 480 $python -m pytest -v --tb=short -m cuda $parallel -p no:cacheprovider -W default -o addopts= --import-mode=importlib tests/cuda
  else
    troubles="$troubles, tests ($python has no pytest)"
  fi
fi
[ -z "$troubles" ] || fail "${troubles#, }"
echo "all parts passed in $SECONDS s"
