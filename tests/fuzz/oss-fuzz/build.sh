#!/bin/bash -eu
# Builds the fuzzers in the form that OSS-Fuzz takes: with the compilers and flags of the environment, without anything
# else of this project's build. Writes to $OUT each fuzzer with its seeds and options.
#
#   CC CXX CFLAGS CXXFLAGS LIB_FUZZING_ENGINE OUT SRC as OSS-Fuzz sets them; the sources are $SRC/simco, or the tree
#   that this file is in. WORK (a temporary folder by default) takes the object files.
here=$(cd "$(dirname "$0")" && pwd)
sources=${SRC:-}/simco
[ -d "$sources" ] || sources=$(cd "$here/../../.." && pwd)
work=${WORK:-}
if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
cd "$sources"

# What each fuzzer runs beside tests/fuzz/NAME_fuzz.cpp; what it does not need makes it slower.
codec=simco/wire/codec.cpp
middlebox="$(ls simco/wire/*.cpp simco/binding/*.cpp simco/session/*.cpp middlebox/policy/*.cpp middlebox/core/*.cpp)
  simco/net/frame_splitter.cpp middlebox/observe/log_lines.cpp middlebox/commit/change_queue.cpp middlebox/commit/following.cpp
  middlebox/commit/journal.cpp
  middlebox/commit/pipeline.cpp middlebox/commit/recovery.cpp middlebox/commit/request_lines.cpp
  middlebox/commit/rule_codec.cpp middlebox/observe/metrics.cpp simco/metrics/registry.cpp"
calls="$(ls simco/wire/*.cpp) simco/session/rule_keeper.cpp $(ls agent/ng/protocol/*.cpp agent/ng/call/*.cpp)"
invites="loadgen/sip/compose.cpp loadgen/sip/message.cpp loadgen/sip/server_transactions.cpp
  simco/net/frame_splitter.cpp"
quic="simco/wire/codec.cpp simco/wire/ip.cpp simco/net/endpoint.cpp simco/net/error.cpp simco/net/frame_splitter.cpp simco/net/quic/channel.cpp
  simco/net/quic/connection.cpp simco/net/quic/connection_library.cpp simco/net/quic/endpoint.cpp
  simco/net/quic/ngtcp2_guard.cpp simco/net/quic/gate.cpp simco/net/quic/send_queue.cpp
  simco/net/quic/stream_inputs.cpp simco/net/quic/tls_session.cpp tests/fuzz/quic_fake_port.cpp tests/fuzz/quic_fake_tls.cpp"

# Compiles files as one unit, which takes a fifth of the time, to $work/NAME.o.
flags='-std=c++23 -I. -DFMT_HEADER_ONLY -DSIMCO_VERSION="fuzzed"'
compile() { # NAME FILE...
  printf '#include "%s"\n' "${@:2}" >"$work/$1.cpp"
  $CXX $CXXFLAGS $flags -c "$work/$1.cpp" -o "$work/$1.o"
}

# Abseil's checks of iterators need one file of its library, which has to be built for the fuzzers' standard library:
# from $SRC/abseil-cpp if that is there, else it is the system's.
abseil="-labsl_raw_logging_internal"
if [ -d "${SRC:-}/abseil-cpp" ]; then
  flags="$flags -isystem $SRC/abseil-cpp"
  compile abseil "$SRC/abseil-cpp/absl/base/internal/raw_logging.cc"
  abseil="$work/abseil.o"
fi

compile stream tests/fuzz/stream_fuzz.cpp $middlebox &
stream=$!
compile decode tests/fuzz/decode_fuzz.cpp $codec
compile calls $calls
for name in bencode sdp ng; do compile "$name" "tests/fuzz/${name}_fuzz.cpp"; done
compile sip tests/fuzz/sip_fuzz.cpp $invites
compile ngtcp2_guard tests/fuzz/ngtcp2_guard_fuzz.cpp simco/net/quic/ngtcp2_guard.cpp
compile quic tests/fuzz/quic_fuzz.cpp $quic
wait "$stream"

# Fuzzers run where nothing is installed: what is not in every system is linked into them.
for name in decode sip ngtcp2_guard; do $CXX $CXXFLAGS "$work/$name.o" $LIB_FUZZING_ENGINE -o "$OUT/fuzz-$name"; done
for name in bencode sdp ng; do
  $CXX $CXXFLAGS "$work/$name.o" "$work/calls.o" $LIB_FUZZING_ENGINE -o "$OUT/fuzz-$name"
done
$CXX $CXXFLAGS "$work/stream.o" $LIB_FUZZING_ENGINE \
  -Wl,-Bstatic -lcrypto $abseil -Wl,-Bdynamic -ldl -pthread -o "$OUT/fuzz-stream"
$CXX $CXXFLAGS "$work/quic.o" $LIB_FUZZING_ENGINE -Wl,-Bstatic -lngtcp2 -Wl,-Bdynamic -pthread -o "$OUT/fuzz-quic"

for name in decode stream bencode sdp ng sip ngtcp2_guard quic; do
  rm -f "$OUT/fuzz-${name}_seed_corpus.zip"
  (cd "tests/fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/fuzz-${name}_seed_corpus.zip" ./*)
  cp "tests/fuzz/oss-fuzz/fuzz-$name.options" "$OUT/"
done
