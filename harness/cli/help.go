package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/dataset"
)

// explained is what --help says of a command.
type explained struct {
	Short    string   // one sentence, of what it does
	More     string   // what else its user has to know
	Examples []string // commands to copy
}

// explanations are those of all commands. In examples, words in capitals and what begins with
// /data stand for the reader's own; a test runs them.
func explanations() map[string]explained {
	const tour = ".assay/phantom-tour.sqlite"
	return map[string]explained{
		"init": {"write a bench.yaml for a running server and a data set",
			"Asks the server for its models and writes a commented file. It never overwrites a file. Then: assay plan -c FILE, assay run -c FILE.",
			[]string{"assay init --data questions.csv --backend http://127.0.0.1:8000 --out questions.yaml", "assay init --data /data/M3CoTBench --models honest --out cot.yaml", "assay init --study faithfulness --data /data/TAIX-VQA --out taix.yaml"}},
		"doctor": {"check servers, devices and the machine before a run, and say what to change",
			"Asks every server who it is and every model three short requests: new, repeated, and repeated with cold caches. Compares the longest planned prompt with each context. Stores nothing.\n" +
				"--fleet compares machines: files that assay doctor --json wrote on each, or without files the workers in the database.\n" +
				"Exit code 0: a run can start; 3: something prevents it; 1, with --strict: there is a warning.",
			[]string{"assay doctor -c mine.yaml", "assay doctor --quick --json"}},
		"plan": {"print what a run would do: trials, time, and what it leaves out",
			"Sends nothing. The time is estimated from stored answers; without any it is unknown.",
			[]string{"assay plan", "assay plan -c mine.yaml --limit 2", "assay plan --power --difference 3"}},
		"run": {"plan, run, judge, score and report an experiment; continue where it stopped",
			"Stores every answer at once: after Ctrl-C, a crash or a power cut, the same command continues.\n" +
				"A change of bench.yaml that would mix results in one store is refused, with the difference.",
			[]string{"assay run --limit 3 --models honest", "assay run -c mine.yaml"}},
		"judge": {"judge stored answers that have no judgment yet, then report",
			"Asks no model for an answer. Asks a judge again only about cases for which it could not be reached.",
			[]string{"assay judge", "assay judge --cases cases.jsonl"}},
		"report": {"compute the scores of a store, write its report and print it in brief",
			"Needs only the store, neither data set nor server. The same store gives the same report.\n" +
				"The page shows the images of its examples if the run's bench.yaml and data are at hand.",
			[]string{"assay report " + tour, "assay report --table cot-main", "assay report --latex cot-main --columns accuracy_cot,f1"}},
		"view": {"show runs, trials and items in a browser, also during a run",
			"Prints an address and serves pages there until Ctrl-C, to this machine only unless --listen says otherwise; others then need the token in the address.\n" +
				"Several stores can be compared; a folder means all its stores. Images, prompts and requests are shown if bench.yaml and its data are at hand (-c).",
			[]string{"assay view", "assay view " + tour}},
		"compare": {"compare runs: what the same items scored, and what changed beyond noise",
			"Compares each store B with the first store A, as B - A, over the trials that both have. If both have one model, these two are compared whatever their names.\n" +
				"A change is beyond noise if its p, Holm-corrected over all rows, is below 0.05. Runs of other data are refused. Other prompts, settings and machines are named; times of other machines are left out.",
			[]string{"assay compare before.sqlite after.sqlite", `assay compare --fail-on "cot.accuracy<-2pt" before.sqlite after.sqlite`}},
		"cost": {"print GPU hours, energy and money: per answer, per correct answer, for the full data set",
			"Prices come from cost: in bench.yaml and are kept in the store: a new price needs no new run.\n" +
				"Before you spend money, assay run --pilot N measures a few items and projects the whole.",
			[]string{"assay cost", "assay cost -c bench.yaml --json"}},
		"show": {"print one trial: its exact prompt, images, curl command, answer and verdicts",
			"Sends nothing. Without --item, lists the items. Of a named store, shows answers and verdicts, without prompts and images.",
			[]string{"assay show", "assay show --item ITEM --out look", "assay show " + tour}},
		"perturb": {"draw what conditions do to an image, beside the baseline and the difference",
			"Draws an item of the experiment as a run shows it, or any image file. Without --condition, draws all conditions of study faithfulness; with --sweep, one at several levels. Writes a PNG and sends nothing.",
			[]string{"assay perturb --region 30,35,70,65 IMAGE", "assay perturb --sweep thickness_px=1,4,16 IMAGE", "assay perturb --list"}},
		"export": {"write trials, judgments, attempts or device samples as CSV, JSON Lines or Parquet",
			"A row is a trial with its scores, why one is missing, times, tokens, energy and answer; --rows chooses another. Sends nothing.",
			[]string{"assay export --out trials.csv", "assay export --rows judgments --columns item,rubric", "assay export --describe"}},
		"export reports": {"write reports and their references for tools that compare them",
			"For RadCliQ: predictions.csv and references.csv with study_id and report, in the same order, and ids.csv, by which assay import scores finds the answers again.",
			[]string{"assay export reports --out reports", "assay export reports -c mine.yaml --out reports"}},
		"import": {"import answers, or scores that other tools computed", "", nil},
		"import scores": {"store the scores of another tool, and print all that are stored",
			"FILE is CSV with a header, or JSON Lines. Its ids are cases, or with --ids the numbers of assay export reports. Without FILE, only prints.\n" +
				"Replaces numbers of the same metric, tool and version. An empty field, null or nan is no number, and never 0.",
			[]string{"assay import scores", "assay import scores --metric bertscore --direction higher --tool RadCliQ --tool-version 0.1 scores.csv"}},
		"import predictions": {"import answers that were made elsewhere, to judge and report them",
			"FILE has one answer for each item; bench.yaml has its model on a backend of kind: imported. The answers become trials without times, tokens and energy; a missing answer is a failure. Then: assay run.",
			[]string{"assay import predictions gpt.tsv --format vlmevalkit -c mine.yaml", "assay import predictions own.csv --format csv --column answer=text"}},

		"dataset check": {"read a data set; print its bad rows and how many items of each kind it has",
			"PATH is a folder in the format of M3CoTBench, TAIX-VQA or MedThinkVQA or with Parquet files, or a CSV, TSV, JSONL or Parquet file; its content decides. Exit code 1: something is wrong with it.",
			[]string{"assay dataset check PATH", "assay dataset check --stats questions.csv"}},
		"dataset example": {"write a tiny data set to look at, change and run",
			"KIND is " + strings.Join(dataset.ExampleKinds(), ", ") + ". Makes FOLDER; overwrites nothing in it.",
			[]string{"assay dataset example csv my-questions", "assay dataset example parquet shards"}},
		"dataset schema": {"print what a data set of a kind must have",
			"KIND is " + strings.Join(dataset.Kinds(), ", ") + ".",
			[]string{"assay dataset schema csv", "assay dataset schema m3cotbench --json"}},
		"dataset filter": {"write a data set without leaking, duplicate or text-solvable items",
			"Filters a data set of bench.yaml in this order: near-duplicates, leaks, text-solvable items, options, length bias. Writes the kept items and removed.csv into a new folder.\n" +
				"--text-solvable asks models without images, in a run with its own store that continues where it stopped.",
			[]string{"assay dataset filter --dataset cases --duplicates both --leaks L3 --out kept", "assay dataset filter --dataset cases --options 3 --probes silent --text-solvable --repeats 1 --out hard"}},
		"dataset contamination": {"test whether models have seen the texts of a data set (MELD)",
			"Models continue the first half of each text, without a chat template if the server allows it. Each continuation is compared with the second half, and with that of another text.\n" +
				"Stores every continuation; the same command continues where it stopped. Exit code 1: some texts have no continuation.",
			[]string{"assay dataset contamination --dataset cases --limit 8", "assay dataset contamination -c mine.yaml --chat --models honest"}},

		"people sample": {"draw answers at random for people to rate",
			"Draws items within strata, then answers to them. FILE has what a rater is shown, in random order, without model and condition. Ratings of these answers correct judged means: assay people agree.",
			[]string{"assay people sample --study faithfulness --items 30 --out cases.jsonl", "assay people sample --study cot --items 20 --answers 0 --out all.jsonl"}},
		"people serve": {"show the drawn answers to raters in their browsers, until Ctrl-C",
			"Raters sign in with codes, which are printed once. They see one answer at a time, in random order, not whose it is; every click is kept.\n" +
				"Only this machine sees the pages unless --listen says otherwise, which needs TLS or a proxy with TLS.",
			[]string{"assay people serve --rater anna --rater ben", "assay people serve --rater anna --also helpfulness"}},
		"people export": {"write what raters submitted, for assay people agree and judges of kind human",
			"Takes the flags that the study was served with. Leaves out what was not submitted, and the cases to learn the scales by.",
			[]string{"assay people export --out ratings.csv", "assay people export --out ratings.csv --verdicts verdicts.jsonl"}},
		"people agree": {"measure how well judges agree with people who rated the same answers",
			"Ratings are CSV or JSON Lines with case, rater, axis and score, or JSON Lines of the cot-eval reader study; one file for each rater.\n" +
				"Half of the rated answers choose a judge, half measure it; the store keeps which is which.",
			[]string{"assay people agree --ratings anna.csv --ratings ben.csv " + tour, "assay people agree --ratings ratings.csv"}},

		"fleet submit": {"put an experiment into a PostgreSQL database, for workers on several machines",
			"Cuts the experiment into slices: some items for one model. Makes the tables if they are missing. Submitted again, an equal experiment stays as it is, and failed slices are given out again.",
			[]string{"assay fleet submit -c mine.yaml", "assay fleet submit -c mine.yaml --slice 200 --needs gemma=h100,big"}},
		"fleet worker": {"work on the slices of a submitted experiment until all are done",
			"Answers go into stores on this machine, as with run; each finished slice is uploaded. After Ctrl-C, a crash or a power cut, the same command continues.\n" +
				"-c takes this machine's bench.yaml: addresses, commands and API keys are its own, all else must be equal. Without it, the submitted one is written to NAME.yaml here.",
			[]string{"assay fleet worker", "assay fleet worker -c mine.yaml --tag big", "assay fleet worker --judge"}},
		"fleet watch": {"show machines, slices, rates, failures and the time left of an experiment",
			"Prints a table every half minute on a terminal, elsewhere a line, until nothing is left, or only judging that no worker does. Ctrl-C ends only the watching. --json and --once look once.\nExit code 1: slices failed on every worker that tried.",
			[]string{"assay fleet watch", "assay fleet watch --json"}},
		"fleet pull": {"copy what workers stored into one store, which all other commands read",
			"Makes OUT.sqlite, or adds to it. Call it again when more was stored or it was interrupted: it fetches what is new, and prints what is still missing.",
			[]string{"assay fleet pull mine.sqlite", "assay fleet pull --experiment mine mine.sqlite"}},
		"fleet slurm": {"print a script that runs an experiment in parts on a Slurm cluster",
			"Each task of its array job runs one part (as run --shard), continues when it is queued again, and has its own servers. A last job joins the parts, judges and reports. Submit all with: bash FILE.",
			[]string{"assay fleet slurm -c mine.yaml --parts 8 --gres gpu:1 --time 4:00:00", "assay fleet slurm -c mine.yaml --parts 2 --sbatch=--mem=32G"}},

		"store check": {"check whether a store is whole: checksums, structure, rows",
			"Changes nothing. Exit code 0: the store is whole; 3: it is not. Stores of older versions have no checksums: a changed value there is not found.",
			[]string{"assay store check " + tour, "assay store check --json"}},
		"store salvage": {"copy what can be read of a damaged store into a new one",
			"Leaves the damaged store as it is, and trials that lost a part out: assay run, with the new store under store: in bench.yaml, asks them again. Exit code 1: something was lost.",
			[]string{"assay store salvage " + tour + " saved.sqlite", "assay store salvage --json " + tour + " saved-too.sqlite"}},
		"store merge": {"join the stores of one run, from several machines or copies, into one",
			"Makes OUT.sqlite, or joins with it; it changes only when all is written. Stores with other settings, data, prompts or models are refused, with the differences.\n" +
				"Of a trial in several stores, an answer comes before a failure, and a valid time before an invalid one; the rest is kept as events. The order of the stores does not matter.",
			[]string{"assay store merge both.sqlite before.sqlite after.sqlite", "assay store merge --json all.sqlite before.sqlite after.sqlite"}},
		"store calibrate": {"fit gain and offset of the GPUs' power sensors to a power meter",
			"Uses the last session of a store with GPUs and a plug (telemetry.meters): stretches of even power at three levels or more. telemetry.calibration in bench.yaml names the file. A bad fit is refused.\n" +
				"A plug shows the whole machine: --efficiency is what its power supply passes on, --others what the machine draws without the GPU.",
			[]string{"assay store calibrate", "assay store calibrate --efficiency 0.92 --others 80 --out calibration.json"}},

		"config schema": {"print the JSON Schema of bench.yaml, for editors",
			"Editors with a YAML language server check and complete a bench.yaml that begins with # yaml-language-server: $schema=FILE. docs/bench.md has the same keys. assay plan checks more: names and files.",
			[]string{"assay config schema --out bench.schema.json", "assay config schema"}},
		"config prompts": {"list, print and check prompts, which your files can replace",
			"A prompt is a template; bench.yaml replaces one by a file of yours: prompts: {cot: mine.tmpl}.", nil},
		"config prompts list":  {"list the built-in prompts and what each may use", "", []string{"assay config prompts list", "assay config prompts list --json"}},
		"config prompts show":  {"print a built-in prompt, to start from", "", []string{"assay config prompts show cot", "assay config prompts show faithfulness/CF"}},
		"config prompts check": {"check whether a file can replace a prompt", "The prompt is the one that the file is named after (cot.tmpl), or that of --prompt.", []string{"assay config prompts check cot.tmpl", "assay config prompts check --prompt faithfulness/CF mine.tmpl"}},

		"phantom serve": {"serve phantom readers on this machine until Ctrl-C",
			"Models are named after profiles: " + strings.Join(phantom.ProfileNames(), ", ") + ".",
			[]string{"assay phantom serve", "assay phantom serve --protocol ollama --ledger truth.jsonl"}},
		"phantom check": {"measure phantoms of known truth with the whole instrument, and compare",
			"Runs phantom readers and judges through adapters, runner, judges and scores. Scores without sampling must equal the readers' ledger; other confidence intervals should hold the built-in truth. Times only show how busy this machine is.",
			[]string{"assay phantom check", "assay phantom check --items 4 --json"}},
		"phantom ledger": {"sum up what phantom readers saw, what moved them and what they said of it", "", []string{"assay phantom ledger truth.jsonl", "assay phantom ledger --json truth.jsonl"}},

		"completion": {"print a completion script for bash, zsh or fish", "In bash: source <(assay completion bash)", []string{"assay completion bash", "assay completion fish"}},
		"version":    {"print the version, the source revision and the Go release", "", []string{"assay version", "assay version --json"}},
	}
}

// explain gives commands their help. A noun has its own.
func explain(prefix string, cmds []*cli.Command, all map[string]explained) {
	for _, c := range cmds {
		explain(prefix+c.Name+" ", c.Subcommands, all)
		if e, ok := all[prefix+c.Name]; ok {
			c.Usage, c.Description = e.Short, e.More
			if len(e.Examples) > 0 {
				c.Description = strings.TrimPrefix(c.Description+"\n\nExamples:\n  "+strings.Join(e.Examples, "\n  "), "\n\n")
			}
		}
	}
}
