# Every target is one plain command that also works without just.

# Build, vet, format and lint.
check:
    .ci/check

# All tests; no GPU, server or network is needed.
test:
    go test ./...

# The race detector over all tests in which something runs beside something else (needs gcc).
race:
    .ci/race

# Mistakes that tests have to notice: one edit at a time. `just mutants cot` tries those whose
# package or name holds cot, `just mutants FILE.json` the edits of a file.
mutants only="":
    .ci/mutants {{quote(only)}}

# Every fuzz target for some seconds each.
fuzz:
    .ci/fuzz 10s

# Benchmarks; each prints its figure.
bench:
    ASSAY_BENCH_TRIALS="${ASSAY_BENCH_TRIALS:-20000}" go test -run '^$' -bench . -benchtime 1x ./...

# A store of a million trials of both studies: resume, scores, report, each with its N.
# ASSAY_BENCH_TRIALS=20000 just million is a quick look.
million:
    go test -run '^$' -bench Million -benchtime 1x -timeout 3h ./harness/cli

# Report, reader study and viewer in Chromium: three widths, light, dark and print.
browser:
    go test -p 1 -tags browser -run 'InABrowser|AuditCanFail' ./results/browser/ ./results/report/ ./results/rating/ ./results/viewer/ ./harness/cli/

# Pages of docs that are made from the program's own tables: every perturbation, bench.yaml.
docs:
    go test ./harness/cli -run TestPagesAreUpToDate -update-pages

# Every table of the default run, compiled by pdflatex, without which it fails.
latex folder="":
    .ci/latex {{quote(folder)}}

# Take the README's pictures anew (Chromium).
screenshots:
    .ci/screenshots

# The whole pipeline against a real Ollama with a tiny made-up model.
e2e:
    .ci/real-ollama

# Attacks on the whole program: `just campaign 100` makes 100 rounds of each class.
campaign rounds="3" seed="1" only="":
    .ci/campaign {{rounds}} {{seed}} "{{only}}"

# A fleet on a real PostgreSQL: `just fleet` has 30 rounds of faults, scaling, TLS; `just fleet 3
# TestFaults` fewer; `ASSAY_BENCH_TRIALS=1000000 just fleet 1 TestManyTrials` a million trials.
fleet rounds="30" only=".":
    ASSAY_FLEET_ROUNDS={{rounds}} .ci/fleet "{{only}}"

# Binaries for Linux (with NVML, and static), macOS and Windows, with checksums: `just release dist`.
release folder="dist":
    .ci/release {{quote(folder)}}

# A container that reads the GPUs it is given.
container:
    docker build -f .ci/Containerfile -t assay .

# The main job: phantom cases, phantom readers, a report.
run:
    go run . run
