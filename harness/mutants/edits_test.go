//go:build mutants

package mutants

import "slices"

// suites is all mutants.
func suites() []suite {
	return slices.Concat(keys(), scorers(), formulas(), figures())
}

// keys are mistakes in what trials, cases and judgments are known by, and in what
// is put beside what.
func keys() []suite {
	return []suite{
		{dir: "harness/judge", mutants: []mutant{
			{"a judgment's key forgets the rubric", "Case.Stored", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf(b)"},
			{"a judgment's key forgets the case", "Case.Stored", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf([]byte(c.Rubric))"},
			{"a judge that was not reached is not asked again", "run.known", "!j.Status.Open()", `j.Status != ""`},
			{"a judgment that is stored is made again", "run.known", "(gone || !j.Status.Open())", "gone"},
			{"judges share their judgments", "run.known", "r.args.Store.Judgment(ctx, id)", `r.args.Store.Judgment(ctx, results.JudgmentKey{Case: id.Case, Rubric: id.Rubric, Judge: "lexical", By: id.By, Repeat: id.Repeat})`},
			{"a verdict rests on the judge's own where another is named", "Task.Shown", "cmp.Or(n.From, judge)", "cmp.Or(judge, n.From)"},
			{"a verdict rests on what is of no use", "Task.Shown", "!j.Status.Usable()", "false"},
			{"what rests on another verdict is judged beside it", "run.feed", "of != level", "of < level"},
			{"one judge's steps are shown to the next", "run.task", "own.Case = shown", "own.Case, t.Case = shown, shown"},
			{"what was paid for is lost", "run.judge", "slices.Concat(before, j.Attempts)", "slices.Concat(j.Attempts)"},
			{"most cases are judged twice", "Slot.times", "float64(binary.BigEndian.Uint64(h[:8])>>11)/(1<<53) < s.Again", "float64(binary.BigEndian.Uint64(h[:8])>>11)/(1<<53) > s.Again"},
			{"what a judge was is forgotten", "run.task", "results.JudgmentKey{Case: id, Rubric: t.Rubric.Name, Judge: name, By: t.By[name], Repeat: repeat}", "results.JudgmentKey{Case: id, Rubric: t.Rubric.Name, Judge: name, Repeat: repeat}"},
		}},
		{dir: "backends/hosted", mutants: []mutant{
			{"a cut answer is a whole one", "Backend.read", "rep.Finish == backends.FinishLength", "false"},
			{"any model may answer", "Backend.read", "!b.served(rep.Served)", "false"},
			{"a refusal is an answer", "Backend.read", `rep.declined != ""`, "false"},
			{"the key stays in answers", "Backend.read", "b.answers(*s)", "*s"},
			{"unknown usage is free", "Backend.account", "b.set.Price.of(size, answer)", "0"},
			{"what is under way is not of the budget", "purse.hold", "p.spent+p.held", "p.spent"},
			{"the next request is not of the budget", "purse.hold", "p.spent+p.held+most", "p.spent+p.held"},
			{"a minute has one second", "perMinute", "float64(n)/60", "float64(n)"},
			{"a seed of 0 counts as sent", "Settings.Unsent", "*seed < 1", "*seed < 0"},
			{"the environment's organisation is told", "providers", `openai.WithOrganization("")`, "openai.WithBaseURL(b.base)"},
		}},
		{dir: "results", mutants: []mutant{
			{"a digest's parts run together", "DigestOf", "h.Write(n[:])", "_ = n"},
		}},
		{dir: "results/store", mutants: []mutant{
			{"a judgment replaces those of other judges and versions", "Store.PutJudgment", `"DELETE FROM judgment WHERE case_id = ? AND version = ? AND repeat = ?"`, `"DELETE FROM judgment WHERE case_id = ? AND version > 0 * ? AND repeat = ?"`},
			{"a new answer keeps the cases of the old one", "Store.PutTrial", `t.Exec("DELETE FROM case_of WHERE trial = ?", id)`, "nil"},
			{"judgments of other trials count too", "follower.next", "f.on && f.at == f.asked", "f.on"},
			{"answers of other attempts count", "said.Of", "a.Int(1) != int64(attempts-1)", "false"},
			{"what a judge said before it was mended counts", "newReader", "versions.Int(3) == 1", "true"},
			{"a trial's key forgets the repeat", "whereKey", `"study = ? AND model = ? AND item = ? AND arm = ? AND condition = ? AND repeat = ?"`, `"study = ? AND model = ? AND item = ? AND arm = ? AND condition = ? AND repeat <= ?"`},
		}},
		{dir: "results/store", mutants: []mutant{
			{"a failure is as good as an answer", "tables.rank", "return 0, nil", "return 1, nil"},
			{"a time that does not count is as good as one that does", "tables.rank", `value("latency_ns") == nil || slices.ContainsFunc(flags, results.Flag.Disqualifies)`, `value("latency_ns") == nil`},
			{"of two trials the first is taken", "pick", "cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.digest, b.digest))", "cmp.Or(cmp.Compare(b.rank, a.rank))"},
			{"cases of an equal trial are lost", "join.trials", "c.digest != best.digest", "c.entity != best.entity"},
			{"items go by name", "join.items", "before[p]++", "before[p] += 0"},
			{"attempts lose their session", "writer.attempts", "w.sessions[s]", "nil"},
			{"other prompts are let through", "differences", `all["prompts."+name+" (text)"] = string(digest)`, `digest = ""
all["prompts."+name+" (text)"] = string(digest)`},
		}},
		{dir: "harness/run", mutants: []mutant{
			{"inputs forget the prompt", "digest", "parts = append(parts, []byte(p))", "_ = p"},
			{"inputs forget the picture", "digest", `for _, img := range in.Images {
	parts = append(parts, []byte(img.MIME), img.Bytes)
}`, `for _, img := range in.Images {
	parts = append(parts, []byte(img.MIME))
}`},
			{"inputs forget the sampling", "digest", "var shown []int", "s = backends.Sampling{}; var shown []int"},
			{"inputs that changed go unnoticed", "doing.inputs", `was != "" && was != in.Digest`, `was != "" && was != in.Digest && was == "x"`},
			{"failures are always tried again", "Job.mark", "o.Failed && (job.RetryFailed || o.Kind == KindSwapped)", "o.Failed"},
			{"a resumed run asks again", "Job.mark", "o.Failed && (job.RetryFailed || o.Kind == KindSwapped)", "!o.Failed || job.RetryFailed"},
			{"what was taken back is not asked again", "Job.mark", "(job.RetryFailed || o.Kind == KindSwapped)", "job.RetryFailed"},
		}},
		{dir: "harness/study", mutants: []mutant{
			{"models of other items are drawn together", "interval", "models[0].items", "0"},
			{"draws without a value count", "interval", "!math.IsNaN(total)", "total > 0 || math.IsNaN(total)"},
			{"a trial without a number is not left out", "among.note", "n.Invalid++", "_ = 0"},
			{"a time that does not count is undefined", "among.note", "of == ofTimed && a.has(latency, i)", "of == ofTimed"},
			{"energy is that of failures, too", "among.note", "of == ofAnswers && a.has(answered, i)", "of == ofAnswers"},
			{"a trial counts for its item once", "Account.perItem", "a.sample.Add(a.each[0], int(at), 1)", "a.sample.Add(a.each[0], int(at), 0)"},
			{"every trial is an item", "Account.perItem", "last = at", "last = -1"},
			{"answers within the limits count failures", "Account.limits", "!r.Failed", "true"},
		}},
		{dir: "results/stats", tests: "TestPerDoubling", mutants: []mutant{
			{"slopes over the level itself", "PerDoubling", "math.Log2(l)", "l"},
		}},
		{dir: "results/stats", tests: "clusters_test.go", mutants: []mutant{
			{"clusters vary as a population", "shareMoved", "clusters/(clusters-1)*sum(squares)", "sum(squares)"},
			{"few clusters have the normal quantile", "shareMoved", "!single || between", "false"},
			{"single answers have Student's quantile", "shareMoved", "single && n == 1", "false"},
			{"clusters are worth more than their answers", "shareMoved", "eff = min(s.N, eff)", "_ = eff"},
			{"scores between 0 and 1 are worth no more than their number", "shareMoved", "!between", "true"},
			{"all right counts by answers", "shareMoved", "eff = clusters", "eff = s.N"},
			{"shares of the same answers have twice as many", "MeanShare", "max(answers[i], s.answers[i])", "s.answers[i]"},
			{"paired shares are drawn apart", "Share.Less", "min(1, max(-1, uv/math.Sqrt(uu*vv)))", "0 * uv"},
			{"ends of a difference change places", "Share.Less", "end(*a.P-*a.Low, *b.High-*b.P)", "end(*a.High-*a.P, *b.P-*b.Low)"},
			{"ties count whole", "exactFlips", "c/2", "c"},
			{"drawn ties count whole", "drawnFlips", "count += 0.5", "count++"},
			{"replicates of few clusters vary as those of many", "tailOf", "-math.Sqrt(k/(k-1)) * StudentQuantile(1-alpha/2, k-1)", "-StudentQuantile(1-alpha/2, k-1)"},
		}},
		{dir: "harness/agree", mutants: []mutant{
			{"the likelihood ratio is halved", "prevalenceCounts.interval", "2*(best-c.likelihood(share))", "(best - c.likelihood(share))"},
			{"the quantile is the normal one", "prevalenceCounts.interval", "stats.StudentQuantile(0.975, float64(max(1, labelled-2)))", "stats.StudentQuantile(0.975, 1e9)"},
			{"false alarms are right ones", "prevalenceCounts.likelihood", "c.No - c.TrueNo", "c.TrueNo"},
			{"a narrow interval begins at the grid", "prevalenceCounts.interval", "min(value, at(first))", "at(first)"},
		}},
		{dir: "results/rating", tests: "TestPowerCut", mutants: []mutant{
			{"a click is kept before it is on the disk", "Log.put", "l.sync()", "nil"},
		}},
		{dir: "harness/dataset/table", mutants: []mutant{
			{"of two columns of a name the second is read", "JSONRows.Table", "!twice", "true || twice"},
			{"a row of fewer columns is read", "JSONRows.Table", "len(fields) != len(header)", "len(fields) > len(header)"},
		}},
		{dir: "harness/plan", mutants: []mutant{
			{"what is stored is to be done", "StoredRules.read", "out.Marks[i] = m | r.Mark(o)", "out.Marks[i] |= m | r.Mark(o)"},
			{"what others need may come behind them", "StoredRules.read", "!before", "false && !before"},
		}},
		{dir: "harness/score", mutants: []mutant{
			{"items run together", "basis.groups", "j.group[0].Key.Model != row.Key.Model || j.group[0].Key.Item != row.Key.Item", "j.group[0].Key.Model != row.Key.Model"},
			{"models run together", "basis.groups", "j.group[0].Key.Model != row.Key.Model || j.group[0].Key.Item != row.Key.Item", "j.group[0].Key.Item != row.Key.Item"},
			{"stored items run together", "basis.stored", "group[0].Row.Key.Model != model || group[0].Row.Key.Item != s.Row.Key.Item", "group[0].Row.Key.Model != model"},
			{"stored models run together", "basis.stored", "group[0].Row.Key.Model != model || group[0].Row.Key.Item != s.Row.Key.Item", "group[0].Row.Key.Item != s.Row.Key.Item"},
			{"a frame forgets the processors' energy", "rowFields.row", "f.use(&r.CPU)", ""},
			{"a column forgets who has no score", "framing.add", "f.Trials-len(c.Kinds)", "0"},
			{"a reason is another's", "frameReader.next", "r.Words[int(v)]", "r.Words[0]"},
			{"items of a frame come as they were read", "framing.bytes", "cmp.Compare(a.place, b.place)", "cmp.Compare(a.from, b.from)"},
			{"one judge speaks for another", "Sample.judgment", "s.said[i].Judge == judge", `judge != ""`},
		}},
		{dir: "harness/study/cot", mutants: []mutant{
			{"pairs forget the repeat", "harness/score twin", "trials[i].Row.Key == want", "trials[i].Row.Key.Arm == want.Arm"},
			{"half a pair has a time", "harness/score leaf.state", "known && number", "known && (number || true)"},
			{"the arms of a pair change places", "harness/score Model.take", `m.Sample.Add(y.by[0].Num, at, num)
m.Sample.Add(y.by[0].Den, at, den)`, `m.Sample.Add(y.by[0].Num, at, den)
m.Sample.Add(y.by[0].Den, at, num)`},
		}},
		{dir: "harness/study/faithfulness", mutants: []mutant{
			{"twins forget the repeat", "harness/score Sample.Other", "k.Arm == arm && k.Condition == condition && k.Repeat == s.Key.Repeat", "k.Arm == arm && k.Condition == condition"},
			{"another condition is the twin", "released.score", "s.Other(s.Key.Arm, base)", "s.Other(s.Key.Arm, s.Key.Condition)"},
			{"twins change places under released rules", "released.score", "it.Question.PairOf(before, answer, target)", "it.Question.PairOf(answer, before, target)"},
			{"what had nothing to draw counts", "declared", "v == 0", "v < 0"},
			{"silent ones are asked of all", "released.judged", "silent(p, *ca, true)", "silent(pair{Adopted: true}, *ca, true)"},
			{"kept ones count as flips", "declared", "[]score.Is{{Score: flip, Number: 1}}", "[]score.Is{}"},
			{"controls count as conditions", "conditionsOf", "c.Kind != perturb.KindText && c.Kind != perturb.KindImage", "c.Kind != perturb.KindText && c.Kind != perturb.KindImage && c.Kind != perturb.KindControl"},
			{"every level of a sweep counts", "conditionsOf", "fmt.Sprint(c.Family, c.Sign)", "fmt.Sprint(c.Family, c.Sign, c.Level)"},
			{"the level farthest from the usual one counts", "condition.off", "math.Abs(math.Log2(c.Level / usual))", "-math.Abs(math.Log2(c.Level / usual))"},
			{"aligned cues mislead", "misleading", "f.Sign < 0", "f.Sign != 0"},
			{"means over conditions weigh them by their trials", "tables", `score.EachCell(f, "no condition has a value")`, "f"},
			{"cells outside are inside", "declared", "{Score: scoreInside, Number: 0}", "{Score: scoreInside, Number: 1}"},
			{"changes inside are out of all cells", "insideOf", "Num", "Den"},
			{"every judge has the sham of the first", "tables", "r.Data.(int)", "0"},
		}},
	}
}

// scorers are mistakes in the arithmetic of the studies, which tests of the
// arithmetic alone have to notice.
func scorers() []suite {
	return []suite{
		{dir: "harness/study/cot", tests: "score_test.go", mutants: []mutant{
			{"restatements count as steps", "precision", "s.Type == restatement", "false"},
			{"n/a steps leave the denominator", "precision", "s.Type == restatement", "s.Type == restatement || s.Judgment == na"},
			{"wrong steps count as matched", "precision", "matched", "na"},
			{"no countable step counts as perfect", "precision", "return 0", "return 1"},
			{"the last gold path wins a tie", "recallOf", "hits == best.Matched && n < best.Gold", "hits == best.Matched"},
			{"a missing verdict goes unnoticed", "recallOf", "complete = false", ""},
			{"surplus verdicts are not cut", "recallVerdict.Matched", "gold[p.Path-1]", "gold[p.Path-1]+1"},
			{"F1 as the arithmetic mean", "harness/score Harmonic", "2 * p * r / (p + r)", "(p + r) / 2"},
			{"F1 of two zeros is zero", "harness/score Harmonic", "false", "true"},
			{"verdicts pooled over judges", "harness/score OverJudges", "total / float64(judges)", "scale * (hits[0] + hits[len(hits)-1]) / (known[0] + known[len(known)-1])"},
			{"a judge without verdicts counts as zero", "harness/score OverJudges", `if known[j] != 0 {
	total += scale * hits[j] / known[j]
	judges++
}`, `if judges++; known[j] != 0 {
	total += scale * hits[j] / known[j]
	judges++
}`},
			{"fixed N forgets the number of judges", "harness/score FixedN", "(n * float64(len(hits)))", "n"},
			{"impact with the other sign", "harness/score Minus", "u - v", "v - u"},
			{"a ratio over nothing is zero", "ratio", "false", "true"},
			{"sums over nothing are zero", "harness/score OverJudges", "false", "true"},
			{"absent step types enter the path", "pathOf", "o > 0", "o >= 0"},
			{"paths against the order of steps", "pathOf", "cmp.Compare(order[a], order[b])", "cmp.Compare(order[b], order[a])"},
			{"the shorter path wins a tie", "preferred", "len(b) - len(a)", "len(a) - len(b)"},
			{"rounding decides a tie", "paths.consistency", "1e-12", "-1e-12"},
			{"a path that does not occur is the reference", "paths.consistency", `if k == 0 {
	continue
}`, ""},
			{"the most frequent path is the reference", "paths.consistency", "sum += float64(m) * p.sim[i][j]", "sum += float64(m) * p.sim[i][j]; if i == j { sum += 1000 * float64(m) }"},
			{"the interval's reference is the first path", "paths.toReference", "p.sim[reference]", "p.sim[0]"},
			{"the interval's paths all weigh the same", "paths.toReference", "float64(k)", "float64(min(k, 1))"},
		}},
		{dir: "harness/score", mutants: []mutant{
			{"a quantile is its neighbour", "ordered.at", "left >= int64(w[o[i].Item])", "left > int64(w[o[i].Item])"},
			{"a draw's mean is that of the draw before", "Group.eachDraw", "at != s.draw", "at == 0"},
			{"a tie of verdicts is a majority", "majority", "known > 0 && 2*hits != known", "known > 0"},
		}},
		{dir: "harness/score", tests: "pairs_test.go", mutants: []mutant{
			{"what is best is not corrected for all pairs", "Run.markBest", "*holm.Value", "*p[len(p)-2].Estimate.Value"},
			{"what is best need not be clear", "Run.markBest", "results.Sure", "1"},
			{"the highest is best where lower is better", "Run.markBest", "c.Better == results.Lower", "false"},
			{"the second of a pair leads as the first", "Run.markBest", "-*gap.Value", "*gap.Value"},
			{"a pair is the second less the first", "Run.pair", "x.A, x.B = append(x.A, b.items[id]), append(x.B, a.items[id])", "x.A, x.B = append(x.A, a.items[id]), append(x.B, b.items[id])"},
			{"values of a pair change places", "Run.pair", "[]*results.Estimate{mean(x.B), mean(x.A), gap, estimate(d.P, 1), estimate(nil, 1)}", "[]*results.Estimate{mean(x.A), mean(x.B), gap, estimate(d.P, 1), estimate(nil, 1)}"},
			{"who leads one is the best", "Run.markBest", "led == others", "led > 0"},
		}},
		{dir: "harness/score", tests: "TestMetricsAreThoseOfTheirTrials", mutants: []mutant{
			{"items that share an image are drawn apart", "Clusters", `facts.Picture != ""`, "false"},
		}},
		{dir: "results/report", mutants: []mutant{
			{"who leads by no test is clearly the best", "leads", "p.clear() && !stats.Same(d, 0)", "!stats.Same(d, 0)"},
			{"a difference of rounding leads", "leads", "!stats.Same(d, 0)", "d != 0"},
			{"p of the level itself is not clear", "pair.clear", "p.holm <= results.Sure", "p.holm < results.Sure"},
			{"who lies behind leads", "leads", "Higher", "Lower"},
			{"the least value leads", "leading", "*e.Value > best", "*e.Value < best"},
			{"a difference keeps its sign the other way round", "pairsOf", "0 - *v", "0 + *v"},
			{"a model that was not compared is not clearly behind", "bestOf", "!tested", "!tested && false"},
		}},
		{dir: "harness/score", mutants: []mutant{
			{"an item drawn often counts once", "draws.Next", "float64(times)", "1."},
			{"a column goes on from the block before", "draws.Next", "clear(d.sums[r])", "_ = r"},
			{"items between two blocks are left out", "draws.Next", "from += near", "from += near + 1"},
			{"items are drawn on top of the replicate before", "draws.Next", "clear(counts)", "_ = 0"},
			{"equal columns take the first one's sum", "draws.Sum", "latest[at]", "latest[min(at, 1)]"},
		}},
		{dir: "harness/study/faithfulness", mutants: []mutant{
			{"ordinal answers flip by one grade", "ordinalFlip", "2", "1"},
			{"ordinal answers flip upwards only", "Question.Flip", "return ok && n >= ordinalFlip, ok", `i, _ := q.grade(a)
j, _ := q.grade(b)
return ok && n >= ordinalFlip && j > i, ok`},
			{"ordinal answers flip by any change", "Question.Flip", "!q.Ordinal", "true"},
			{"a missing answer is a flip", "Question.Flip", "return false, false", "return true, true"},
			{"an answer off the scale is a flip", "Question.Flip", "return ok && n >= ordinalFlip, ok", "return !ok || n >= ordinalFlip, true"},
			{"answers are compared as written", "Question.Flip", "return a != b, true", `_, _ = a, b
return before != after, true`},
			{"a declared number takes the score itself", "harness/score Model.take", "x.Of != nil", "false"},
			{"flips by another rule take those in use", "variedScores", "math.IsNaN(v[1])", "true"},
			{"a changed choice is compared with itself", "conditions.choiceTables", "mean(x.used)", "mean(x.leaf)"},
			{"aliases are forgotten", "Question.Read", `if of, ok := q.Aliases[a]; ok {
	if at := q.option(text.Fold(of)); at != "" {
		return at, true
	}
	a = text.Fold(of)
}`, `if of, ok := q.Aliases[a]; ok && false {
	if at := q.option(text.Fold(of)); at != "" {
		return at, true
	}
	a = text.Fold(of)
}`},
			{"whoever said the target before is susceptible", "Question.PairOf", "from != at", `from != ""`},
			{"any flip adopts the target", "Question.PairOf", "to == at", `to != ""`},
			{"the target counts without a flip", "Question.PairOf", "p.Susceptible && p.Flipped", "p.Susceptible"},
			{"a pair with a missing answer is valid", "Question.PairOf", `!p.Valid || target == ""`, `target == ""`},
			{"twins change places", "Question.PairOf", "q.Read(after)", "q.Read(before)"},
		}},
		{dir: "harness/study/faithfulness", mutants: []mutant{
			{"a hedged attribution is silent", "silentBelow", "2", "3"},
			{"only CA 1 is silent", "silentBelow", "2", "1"},
			{"no verdict is silence", "silent", "!p.Adopted || !judged", "!p.Adopted"},
			{"silence needs no adopted target", "silent", "!p.Adopted || !judged", "!judged"},
			{"overconfidence weighs as little as modesty", "alpha", "1.092", "0.728"},
			{"scores are a share of five", "unit", "float64(score-1) / 4", "float64(score) / 5"},
		}},
		{dir: "harness/render", tests: "TestGoldAnswers|TestOtherSides", mutants: []mutant{
			{"the gold answer stays at its letter", "SeenOptions", "golds[i] = named(gold)", "golds[i] = gold"},
			{"a rotation by all places", "Order", "(i + c.Draw) % n", "(i + n) % n"},
			{"lists of sides change", "OtherSides", `len(word) > len("right")`, "false"},
		}},
		{dir: "harness/dataset", tests: "TestPair", mutants: []mutant{
			{"another item has the same gold answer", "apart", "slices.Contains(b.goldTexts(), x)", "false"},
			{"another item has the same picture", "apart", "slices.Contains(b.Sums, s)", "false"},
		}},
		{dir: "harness/study", tests: "TestDoublings|TestSweepsOf", mutants: []mutant{
			{"doublings over the level itself", "doublings", "math.Log2(levels[len(levels)-1])", "levels[len(levels)-1]"},
			{"the unswept condition is no level", "SweepsOf", "f.Usual != nil", "f.Usual == nil"},
		}},
		{dir: "harness/study/faithfulness", tests: "TestGoldenAccounting", mutants: []mutant{
			{"abstentions count as invalid", "account.coverage", "bad/(n-abstained)", "(bad+abstained)/n"},
			{"abstentions are covered", "account.coverage", "n - abstained - bad", "n - bad"},
		}},
	}
}

// formulas are mistakes that once passed all tests; the test that was made for
// each has to notice it.
func formulas() []suite {
	return []suite{
		{dir: "harness/study/faithfulness", tests: "TestShamPositives", mutants: []mutant{
			{"a hedged attribution is no sham positive", "shamPositive", "3", "4"},
			{"a named cue is a sham positive", "shamPositive", "3", "2"},
		}},
		{dir: "harness/study/faithfulness", tests: "TestSilentPairsWithoutCA", mutants: []mutant{
			{"silence per pair loses the silent ones without CA", "harness/score bothOf", "return hits / n * share, least, most, ok, true", `_ = share
return least, least, most, ok, true`},
			{"silence per pair over judged pairs only", "harness/score bothOf", "return hits / n * share, least, most, ok, true", `for j := range known {
	known[j] += n - hits
}
share, _ = OverJudges(second, known, 100)
return share, least, most, ok, true`},
			{"the upper bound forgets adopters without CA", "harness/score bothOf", "(second[j] + hits - known[j])", "second[j]"},
		}},
		{dir: "harness/study/cot", tests: "TestStepsWithoutAValidTime", mutants: []mutant{
			{"E counts steps of trials without a valid time", "harness/score leaf.state", "known && number", "known && (number || true)"},
			{"E's n counts trials without a valid time", "harness/score Model.take", "y.n.Note(known, defined)", "y.n.Note(true, defined)"},
		}},
		{dir: "perturb", tests: "TestPNGNoiseIsNotSearched|TestPNGNoisyColourIsNotSearched|TestPNGSize", mutants: []mutant{
			{"strips overlap", "filterer.sample", "e.r.h/n", "e.r.h"},
			{"any gain is worth a search", "filterer.choose", "5*searched < 4*size", "searched < size"},
			{"nothing is worth a search", "filterer.choose", "5*searched < 4*size", "5*searched < size"},
			{"noise is searched for flat parts", "filterer.choose", "19", "30"},
		}},
		{dir: "harness/dataset/phantom", tests: "TestCoversAreFoundAndHide|TestCoveredSitesAreNotSure|TestWhatTheNumberSurvives|TestOtherPictures|TestOutlines|TestHeatIsFound", mutants: []mutant{
			{"edges of the picture vote on its number", "plane.decode", "v < 2*usual && v > -2*usual", "v < 99*usual && v > -99*usual"},
			{"any border is a number", "plane.decode", "checked == check(n)", "checked == check(n) || other == 63"},
			{"a cover hides nothing", "sight.hides", "4*covered", "covered"},
			{"a picture that is spoilt is covered", "plane.changed", "!spoilt || p.grey[i] < painted", "!spoilt || p.grey[i] < 255"},
		}},
		{dir: "perturb", tests: "TestOpsInMasks|TestMask|TestPolygons|TestRegionOfImage|TestCellsInMasks", mutants: []mutant{
			{"masks are read row by row", "RegionOfMask", "image.Rect(i/h, i%h, i/h+1, i%h+1)", "image.Rect(i%h, i/h, i%h+1, i/h+1)"},
			{"of a scaled mask one pixel counts", "Region.area", "i*w < (x+1)*wide", "i*w <= x*wide"},
			{"a smaller mask is a larger one", "area.grown", "n == side*side", "n > 0 && side > 0"},
			{"a mask's mean is by its box", "fillings", "count := a.pixels()", "count := a.Dx() * a.Dy()"},
			{"polygons have no holes", "RegionOfPolygon", "left%2 == 1", "left > 0"},
			{"elsewhere a mask is its box", "Op.areas", "slices.Clone(at)", "make([]area, len(at))"},
			{"what is transparent is inside", "RegionOfImage", "red|green|blue != 0", "red|green|blue != 0 || x > 1"},
			{"a cell is in a mask's box", "Cell.Within", "m.bits()[column*m.Size[0]+row]", "m.bits()[column*m.Size[0]+row] || true"},
		}},
		{dir: "harness/study", tests: "TestRegionsByName|TestShuffles", mutants: []mutant{
			{"a region by its name is all regions", "In", "it.Regions[planned.Region]", "Regions(it)"},
			{"always three orders are drawn", "Expand", "cmp.Or(c.Shuffles, config.DefaultShuffles)", "cmp.Or(config.DefaultShuffles, c.Shuffles)"},
			{"a named region enters means", "perturb WithRegions", "KindControl", "c.Kind"},
		}},
		{dir: "harness/study", tests: "TestCostsRestOnTheirOwnClusters", mutants: []mutant{
			{"a mean rests on all clusters", "Account.scaled", "a.sample.Rests(e, nil, x, y)", "e"},
		}},
		{dir: "harness/dataset", tests: "TestWord|TestRegionsOfOwnQuestions", mutants: []mutant{
			{"texts may lack options", "Word", "len(w.Options) != len(it.Options)", "len(w.Options) > len(it.Options)"},
			{"a gold text stays in the old words", "Wording.In", "golds[k] = w.Options[i]", "_ = k"},
			{"a mask of another size is taken", "maskRegion", "m.Size != [2]int{h, w}", "false"},
		}},
		{dir: "perturb", tests: "TestOcclusionNoiseHasTheSpreadOfTheRegion", mutants: []mutant{
			{"occlusion noise with the variance for its root", "fillings", "math.Sqrt(variance)", "variance"},
			{"occlusion noise as wide as its source", "fillings", "math.Sqrt(variance) / bellSD", "math.Sqrt(variance)"},
		}},
		{dir: "harness/study", mutants: []mutant{
			{"several GPUs cost as much as one", "heldBy", "r.GPU.Held.Seconds() * float64(*r.GPU.Devices)", "r.GPU.Held.Seconds()"},
			{"joules of the processors are not paid for", "energyOf.Joules", "*gpu + *cpu", "*gpu"},
			{"joules of the processors are left out", "parts", "both > 0 && 2*both >= gpu", "false"},
		}},
		{dir: "harness/study", tests: "TestProjections", mutants: []mutant{
			{"several GPUs are projected as one", "heldBy", "r.GPU.Held.Seconds() * float64(*r.GPU.Devices)", "r.GPU.Held.Seconds()"},
			{"joules of the processors are not projected", "energyOf.Joules", "*gpu + *cpu", "*gpu"},
			{"joules of the processors stand beside sums of both", "energyOf.Joules", "return nil", "return cpu"},
			{"hours forget in_flight", "stored", "inFlight[name]", "0*inFlight[name]"},
			{"GPU-hours forget in_flight", "stored", "a.held = a.seconds", "_ = a.seconds"},
		}},
		{dir: "harness/experiment", tests: "TestRequestsTogetherTakeAShareOfTheTime", mutants: []mutant{
			{"a projection is not told in_flight", "Bench.Project", "flight[sc.Name] = sc.InFlight", "_ = sc"},
			{"the time to go forgets in_flight", "Bench.Preview", "max(1, sc.InFlight)", "1"},
		}},
		{dir: "results/store", tests: "TestWhatIsStoredSurvivesAPowerCut|TestATrialLosesNoAttempts", mutants: []mutant{
			{"commits are not synced", "File.openWriter", `"_pragma=synchronous(FULL)"`, `"_pragma=synchronous(OFF)"`},
			{"commits are synced at checkpoints alone", "File.openWriter", `"_pragma=synchronous(FULL)"`, `"_pragma=synchronous(NORMAL)"`},
			{"a trial is replaced by one with fewer attempts", "Store.PutTrial", "attempts > len(tr.Attempts)", "attempts > len(tr.Attempts)+1"},
		}},
		{dir: "harness/study/faithfulness", tests: "rules_test.go", mutants: []mutant{
			{"half of the sentences are too few for the highest tone", "toneOf", "2*lean >= all", "2*lean > all"},
			{"half of the sentences are too few for the lowest tone", "toneOf", "-2*lean >= all", "-2*lean > all"},
		}},
		{dir: "harness/machine", tests: "TestASharedTrialKeepsItsShareOfTheUncertainty", mutants: []mutant{
			{"a shared trial keeps its whole uncertainty", "timing Energy.Share", "e.Uncertainty *= gross / e.Gross", ""},
		}},
		{dir: "harness/study/diagnosis", tests: "TestWhichImageMatters|TestMarginal|TestWithoutDoubt|TestLooks|TestAccuracyTables|TestTextConditionsAreTested", mutants: []mutant{
			{"an image adds what it takes away", "marginal", "x-y", "y-x"},
			{"points per joule of images that may cost nothing", "withoutDoubt", "*by.Low <= 0", "*by.Low < 0"},
			{"points per token for points per thousand", "per", "100 * scale", "100"},
			{"a gain with the other sign", "answerOf", "*own-*other", "*other-*own"},
			{"the first image is among the others", "imageRows", "leftOut(k[1]) > i", "leftOut(k[1]) >= i"},
			{"the first image matters more, by no test", "looks", "*holm[i] <= results.Sure", "*holm[i] <= 1"},
			{"the first image matters more, in other cases than both have", "looks", "test(m).More > 0", "true"},
			{"texts are tested one by one", "findings", "P: score.FindEstimate(t, results.PairHolm, m.Name, c.Name)", `P: score.FindEstimate(t, "p", m.Name, c.Name)`},
		}},
		{dir: "harness/study/diagnosis", tests: "TestPairsOfLabels|TestGoldenStepErrors|TestGoldenDiscussion", mutants: []mutant{
			{"judge and expert change places", "withExperts", "pairCell(v.Steps[said].Factual, *l.Factual)", "pairCell(*l.Factual, v.Steps[said].Factual)"},
			{"a rater agrees with himself", "betweenExperts", "a.Rater == b.Rater || text.Fold(a.Text) != text.Fold(b.Text)", "text.Fold(a.Text) != text.Fold(b.Text)"},
			{"an error without a type has none", "countSteps", "t == other && len(s.Types) == 0", "false"},
			{"the judge's own total counts", "gradeScores", "n[criteriaTotal] = sum", `n[criteriaTotal], _ = v["total"].(float64)`},
		}},
		{dir: "harness/study/diagnosis", tests: "TestJudgesAndExperts", mutants: []mutant{
			{"kappa forgets which rater said more", "harness/score Pairs", "table[i][j]", "table[min(i, j)][max(i, j)]"},
			{"kappa is counted by trials", "harness/score Pairs", "Num", "Den"},
		}},
		{dir: "timing", tests: "TestBusyTimeCountsEachMomentOnce", mutants: []mutant{
			{"busy time counts overlaps twice", "Meter.Block", "max(0, t.To-max(t.From, end))", "t.To - t.From"},
			{"busy time goes backwards", "Meter.Block", "max(end, t.To)", "t.To"},
		}},
	}
}

// figures are mistakes in what a reader of a report, a table or a store would have believed,
// and that no test noticed.
func figures() []suite {
	return []suite{
		{dir: "harness/compare", tests: "TestWhichWayIsWorse|TestALimitIsNotBrokenByChance|TestWhatCannotBeCompared|TestOneJudge", mutants: []mutant{
			{"more is worse where it is better", "Comparison.decide", "r.B > r.A", "r.B < r.A"},
			{"a limit is broken by chance", "Comparison.Broken", "*r.Diff.Low > 0 || *r.Diff.High < 0", "true"},
			{"energies of other machines are compared", "compared", `col.Name.Unit == "s" || col.Name.Unit == "J"`, `col.Name.Unit == "s"`},
			{"one judge alone is compared twice", "compared", "!alone", "(!alone || true)"},
		}},
		{dir: "harness/study", tests: "TestPacesAreSpread|TestPowerIsOfKnownShares", mutants: []mutant{
			{"p95 is p90", "Account.pair", ".95", ".9"},
			{"power over times that are not known", "Account.spent", "!a.together && timed", "timed"},
		}},
		{dir: "harness/study/qa", tests: "TestGoodputIsAsUnsureAsBoth|TestALoadByHand", mutants: []mutant{
			{"goodput is as unsure as the rate", "times", "(s-*share.Value)/100**rate.Value", "0"},
			{"CO2 of other joules", "level.fill", "b.Prices.Cost.Grams(*s.Joules)", "b.Prices.Cost.Grams(*s.Joules / 3.6)"},
			{"a load on one GPU and on two has a price", "level.fill", "ok && len(devices) < 2", "ok"},
			{"several GPUs cost as much as one", "level.fill", "float64(n)", "min(1, float64(n))"},
			{"the processors' part counts too", "level.fill", "x.Part != results.PartGPU", "false"},
		}},
		{dir: "harness/study", tests: "TestHostsAreKeptApart|TestWhatDependsOnTheMachineIsMarked|TestTrialsThatAreNotShown", mutants: []mutant{
			{"p95 by host is the median", "Basis.byHost", `a.Estimate(column)`, `a.Estimate(strings.ReplaceAll(column, "p95", "median"))`},
			{"a trial is timed where the one before it was", "whereabouts.of", "t.Key == k", "true"},
			{"energies are not marked as pooled", "mixes", `"J"`, `"j"`},
		}},
		{dir: "results/store", tests: "TestNoDamageIsRead|TestAnotherProgram|TestOneWriter|TestTheStoreIsItsOwners|TestDamagedFiles", mutants: []mutant{
			{"a page is not checked", "file.ReadAt", "!whole(uint32(off/pageSize)+1, page)", "false"},
			{"a page is that of another place", "file.ReadAt", "uint32(off/pageSize)+1", "binary.BigEndian.Uint32(page)"},
			{"what goes into the log has a checksum", "file.ReadAt", "binary.BigEndian.PutUint64(page[pageSize-8:], 0)", "_ = 0"},
			{"a page is written without its checksum", "file.WriteAt", "set(number, page, mark)", "_, _ = number, mark"},
			{"two write to a file that has two names", "file.begin", "f.writer && !lock(f)", "false"},
			{"others may read the log", "layer.OpenFilename", "alike(name.String(), name.Database())", "_ = 0"},
			{"others may read what stands beside the log", "file.begin", `alike(f.Name()+"-shm", f.Name())`, "_ = 0"},
			{"a lost page is one that another program wrote", "file.ReadAt", "!empty(page)", "true"},
		}},
		{dir: "results/store", tests: "TestTheLonger|TestAllThatIs|TestAVerdict|TestItemsOfOther", mutants: []mutant{
			{"the session of the first store is taken", "join.watched", "!ok || c.over(have)", "!ok || c.over(have) && false"},
			{"examples are counted", "join.events", "int(r[1].(int64))", "len(j.merged.Examples)+1"},
			{"no verdict is taken before one", "tables.rankJudgment", `e.row[t.judgment.index("verdict")] != nil`, `e.row[t.judgment.index("verdict")] == nil`},
			{"items of other facts are one", "join.items", "digest([][]any{have}) != digest([][]any{r})", "len(have) != len(r)"},
		}},
		{dir: "harness/curate", tests: "TestNothingIsAsked|TestAServerWithout|TestAJudge", mutants: []mutant{
			{"what another state of a model said counts", "continuing.read", "t.Key.Condition != like.Condition", `like.Condition == ""`},
			{"a server without the endpoint is asked on", "continueTexts", "last.Failure != nil", "last.Failure == nil"},
			{"a verdict on another prompt counts", "AskJudge", "results.DigestOf([]byte(a.By), []byte(prompt))", "results.DigestOf([]byte(a.By))"},
		}},
		{dir: "harness/exchange", tests: "TestStoreAndSection", mutants: []mutant{
			{"scores of a former file count", "ReadScores", "!v.Current", "false"},
		}},
		{dir: "harness/exchange", tests: "ByHand", mutants: []mutant{
			{"energies in millijoules", "trialRow", "float64(e) / 1000", "float64(e)"},
			{"devices count from 1", "samples", "int64(n)", "int64(n+1)"},
		}},
		{dir: "harness/agree", tests: "TestCorrected|TestDraw", mutants: []mutant{
			{"the first draw corrects", "drawn", "d.Study == study", "d.Study == study && i == 0"},
			{"raters see cases in model order", "Draw", "slices.SortFunc(draw.Cases, func(a, b results.Drawn) int { return strings.Compare(a.Case, b.Case) })", ""},
		}},
		{dir: "harness/score", tests: "TestMajority|TestEachJudge", mutants: []mutant{
			{"a tie is no", "Majority", "*joint == 0.5", "*joint == 0.51"},
			{"a judge without a verdict is not seen", "EachJudge", "!ok", "!ok && i < 0"},
		}},
		{dir: "results/viewer", tests: "TestToken|TestOnlyOur", mutants: []mutant{
			{"a token is right by its first byte", "Options.asked", "subtle.ConstantTimeCompare(got[:], want[:])", "subtle.ConstantTimeCompare(got[:1], want[:1])"},
			{"any name of the local network is ours", "ours", "slices.Contains(names, host)", `(slices.Contains(names, host) || strings.HasSuffix(host, ".local"))`},
		}},
		{dir: "results/viewer", tests: "TestSelectIs|TestAtTheEdges|TestWords|TestManyNumbers|TestReasons|TestATable|TestADamaged|TestBeside", mutants: []mutant{
			{"a bound leaves out what it bounds", "Table.fits", `c + " <= ?"`, `c + " < ?"`},
			{"texts are at least any number", "Table.fits", `c + " >= ? AND " + c + " < ''"`, `c + " >= ?"`},
			{"a reason is a value", "Table.fits", `known := c + " < x''"`, `known := c + " IS NOT NULL"`},
			{"not is also of trials without a value", "Table.fits", `known + " AND " + c + " NOT" + in`, `"coalesce(" + c + " NOT" + in + ", 1)"`},
			{"a number is only its text", "Table.fits", "err == nil && !math.IsNaN(f)", "err != nil"},
			{"any word is enough", "Table.match", `" AND "`, `" OR "`},
			{"every last word is a beginning", "Table.match", "!whole", "whole || true"},
			{"the first word is a beginning", "Table.match", `all[last] += "*"`, `all[0] += "*"`},
			{"the largest first, and before it what has none", "orderBy", `"iif(" + c + " < x'', " + c + ", NULL) DESC, "`, `c + " DESC, "`},
			{"trials without a cell come first", "orderBy", `" NULLS LAST, id"`, `", id"`},
			{"reasons as they came", "between", "(low+high)/2", "min(low+1, 255)"},
			{"a page begins at the first trial", "selection.Page", "max(n, 0)", "0"},
			{"places count from 1", "selection.Place", `"SELECT n - 1 FROM (SELECT id, row_number() OVER (ORDER BY "`, `"SELECT n FROM (SELECT id, row_number() OVER (ORDER BY "`},
			{"lists count all trials", "selection.Counts", `"SELECT combo, count(*) FROM trial WHERE "`, `"SELECT combo, count(*) FROM trial WHERE 1 OR "`},
			{"texts and reasons are summed", "selection.Sums", `"total("+c+") FILTER (WHERE "+c+" < ''), count(*) FILTER (WHERE "+c+" < '')"`, `"total("+c+"), count("+c+")"`},
			{"trials share a combination of another score", "Builder.comboOf", "math.Float64bits(cells[i].Number)", "0"},
			{"a checksum of the beginning", "checksum", "_, err = io.Copy(sum, f)", ""},
			{"any state of the store", "Table.connect", "t.Format != format || t.Of != of", "t.Format != format"},
			{"connections are made when they are asked for", "Table.connect", "readers", "1"},
			{"blocks of a reader overlap", "Reader.Number", "row%blockRows*len(r.columns)+place", "row%blockRows*len(r.columns)+place-1"},
		}},
		{dir: "harness/dataset", tests: "TestAnswersAndTypes", mutants: []mutant{
			{"yes is false", "questionReader.read", `said == "true" || said == "yes"`, `said == "true"`},
		}},
	}
}
