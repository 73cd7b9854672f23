//go:build mutants

package mutants

// suites is all mutants.
func suites() []suite {
	return append(append(keys(), scorers()...), formulas()...)
}

// keys are mistakes in what trials, cases and judgments are known by, and in what
// is put beside what.
func keys() []suite {
	return []suite{
		{dir: "harness/judge", mutants: []mutant{
			{"a judgment's key forgets the rubric", "judge.go", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf(b)"},
			{"a judgment's key forgets the case", "judge.go", "results.DigestOf([]byte(c.Rubric), b)", "results.DigestOf([]byte(c.Rubric))"},
			{"a judge that was not reached is not asked again", "run.go", "if ok && (gone || !j.Status.Open()) {", "if ok && (gone || j.Status != \"\") {"},
			{"a judgment that is stored is made again", "run.go", "if ok && (gone || !j.Status.Open()) {", "if ok && gone {"},
			{"judges share their judgments", "run.go", "r.args.Store.Judgment(ctx, id)", "r.args.Store.Judgment(ctx, results.JudgmentKey{Case: id.Case, Rubric: id.Rubric, Judge: \"lexical\", By: id.By, Repeat: id.Repeat})"},
			{"a verdict rests on the judge's own where another is named", "needs.go", "cmp.Or(n.From, judge)", "cmp.Or(judge, n.From)"},
			{"a verdict rests on what is of no use", "needs.go", "case !j.Status.Usable():", "case false:"},
			{"what rests on another verdict is judged beside it", "run.go", "if of != level {", "if of < level {"},
			{"one judge's steps are shown to the next", "run.go", "own.Case = shown", "own.Case, t.Case = shown, shown"},
			{"what was paid for is lost", "run.go", "slices.Concat(before, j.Attempts)", "slices.Concat(j.Attempts)"},
			{"most cases are judged twice", "run.go", "< s.Again {", "> s.Again {"},
			{"what a judge was is forgotten", "run.go", "By: t.By[name], Repeat: repeat}", "Repeat: repeat}"},
		}},
		{dir: "backends/hosted", mutants: []mutant{
			{"a cut answer is a whole one", "problem.go", "case rep.finish == backends.FinishLength:", "case false:"},
			{"any model may answer", "problem.go", "case !b.served(rep.model):", "case false:"},
			{"a refusal is an answer", "problem.go", "case rep.declined != \"\":", "case false:"},
			{"the key stays in answers", "problem.go", "	b.clean(&rep)\n", ""},
			{"unknown usage is free", "hosted.go", "cost, acc.AtMost = b.set.Price.of(size, answer), true", "cost, acc.AtMost = 0, true"},
			{"what is under way is not of the budget", "limits.go", "p.spent+p.held+most <= p.limit", "p.spent+most <= p.limit"},
			{"the next request is not of the budget", "limits.go", "p.spent+p.held+most <= p.limit", "p.spent+p.held <= p.limit"},
			{"a minute has one second", "hosted.go", "rate.Limit(float64(s.Requests)/60), 1", "rate.Limit(float64(s.Requests)), 1"},
			{"a dropped seed is not noticed", "dropped.go", "		differs(\"seed\", req.Sampling.Seed, left.Seed)\n", ""},
			{"a weaker schema is as good", "dropped.go", "left.Schema != formExact", "left.Schema == \"\""},
			{"the environment's organisation is told", "provider.go", "openai.WithOrganization(\"\"), ", ""},
		}},
		{dir: "results", mutants: []mutant{
			{"a digest's parts run together", "results.go", "h.Write(n[:])", "_ = n"},
		}},
		{dir: "results/sqlite", mutants: []mutant{
			{"a judgment replaces those of other judges and versions", "judgments.go", "WHERE case_id = ? AND version = ? AND repeat = ?", "WHERE case_id = ? AND version > 0 * ? AND repeat = ?"},
			{"a new answer keeps the cases of the old one", "write.go", "t.Exec(\"DELETE FROM case_of WHERE trial = ?\", id),", ""},
			{"judgments of other trials count too", "results/rows/follow.go", "return f.on && f.at == f.asked", "return f.on"},
			{"answers of other attempts count", "results/rows/said.go", "a.Int(1) != int64(attempts-1)", "false"},
			{"what a judge said before it was mended counts", "results/rows/rows.go", "if versions.Int(3) == 1 {", "if true {"},
			{"a trial's key forgets the repeat", "write.go", "arm = ? AND condition = ? AND repeat = ?\"", "arm = ? AND condition = ? AND repeat <= ?\""},
		}},
		{dir: "results/merge", mutants: []mutant{
			{"a failure is as good as an answer", "join.go", "	if value(\"outcome\") != \"answer\" {\n		return 0, nil", "	if value(\"outcome\") != \"answer\" {\n		return 1, nil"},
			{"a time that does not count is as good as one that does", "join.go", "value(\"latency_ns\") == nil || slices.ContainsFunc(flags, results.Flag.Disqualifies)", "value(\"latency_ns\") == nil"},
			{"of two trials the first is taken", "join.go", "cmp.Compare(b.rank, a.rank), cmp.Compare(a.digest, b.digest)", "cmp.Compare(b.rank, a.rank)"},
			{"cases of an equal trial are lost", "join.go", "if c.digest != best.digest {\n				continue\n			}\n			cases", "if c.entity != best.entity {\n				continue\n			}\n			cases"},
			{"items go by name", "watched.go", "before[p]++", "before[p] += 0"},
			{"attempts lose their session", "writer.go", "row[i+2] = w.sessions[s]", "row[i+2] = nil"},
			{"other prompts are let through", "manifest.go", "for name, digest := range m.Prompts {", "for name, digest := range m.Prompts {\n			digest = \"\""},
		}},
		{dir: "harness/runner", mutants: []mutant{
			{"inputs forget the prompt", "input.go", "parts = append(parts, []byte(p))", "_ = p"},
			{"inputs forget the picture", "input.go", "range in.Images {\n		parts = append(parts, []byte(img.MIME), img.Bytes)", "range in.Images {\n		parts = append(parts, []byte(img.MIME))"},
			{"inputs forget the sampling", "input.go", "}{s, end.Think, end.Options, len(in.Images), shown})", "}{backends.Sampling{}, end.Think, end.Options, len(in.Images), shown})"},
			{"inputs that changed go unnoticed", "trial.go", "was != \"\" && was != in.Digest", "was != \"\" && was != in.Digest && was == \"x\""},
			{"failures are always tried again", "runner.go", "if o.Failed && (job.RetryFailed || o.Kind == KindSwapped) {", "if o.Failed {"},
			{"a resumed run asks again", "runner.go", "if o.Failed && (job.RetryFailed || o.Kind == KindSwapped) {", "if !o.Failed || job.RetryFailed {"},
			{"what was taken back is not asked again", "runner.go", "(job.RetryFailed || o.Kind == KindSwapped)", "job.RetryFailed"},
		}},
		{dir: "harness/study/cohort", mutants: []mutant{
			{"models of other items are drawn together", "cohort.go", "if m.items != models[0].items {", "if m.items == 0 {"},
			{"draws without a value count", "cohort.go", "if !math.IsNaN(total) {", "if total > 0 || math.IsNaN(total) {"},
		}},
		{dir: "results/stats", tests: "TestPerDoubling", mutants: []mutant{
			{"slopes over the level itself", "agree.go", "append(x, math.Log2(l))", "append(x, l)"},
		}},
		{dir: "results/stats", tests: "clusters_test.go", mutants: []mutant{
			{"clusters vary as a population", "clusters.go", "clusters/(clusters-1)*sum(squares)", "sum(squares)"},
			{"few clusters have the normal quantile", "clusters.go", "if !single || between {", "if false {"},
			{"single answers have Student's quantile", "clusters.go", "single && n == 1", "false"},
			{"clusters are worth more than their answers", "clusters.go", "eff = min(s.N, eff)", "_ = eff"},
			{"scores between 0 and 1 are worth no more than their number", "clusters.go", "/ variance; !between {", "/ variance; true {"},
			{"all right counts by answers", "clusters.go", "eff = clusters\n", "eff = s.N\n"},
			{"shares of the same answers have twice as many", "clusters.go", "answers[i] = max(answers[i], s.answers[i])", "answers[i] += s.answers[i]"},
			{"paired shares are drawn apart", "clusters.go", "min(1, max(-1, uv/math.Sqrt(uu*vv)))", "0 * uv"},
			{"ends of a difference change places", "clusters.go", "d - end(*a.P-*a.Low, *b.High-*b.P)", "d - end(*a.High-*a.P, *b.P-*b.Low)"},
			{"ties count whole", "clusters.go", "p = append(p, c/2)", "p = append(p, c)"},
			{"drawn ties count whole", "clusters.go", "count += 0.5", "count++"},
			{"replicates of few clusters vary as those of many", "clusters.go", "math.Sqrt(k/(k-1)) * StudentQuantile", "StudentQuantile"},
		}},
		{dir: "results/stats/prevalence", mutants: []mutant{
			{"the likelihood ratio is halved", "prevalence.go", "2*(best-c.likelihood(share))", "(best - c.likelihood(share))"},
			{"the quantile is the normal one", "prevalence.go", "stats.StudentQuantile(0.975, float64(max(1, labelled-2)))", "stats.Z95"},
			{"false alarms are right ones", "prevalence.go", "falseYes := c.No - c.TrueNo", "falseYes := c.TrueNo"},
			{"a narrow interval begins at the grid", "prevalence.go", "min(value, at(first))", "at(first)"},
		}},
		{dir: "results/rating", tests: "TestPowerCut", mutants: []mutant{
			{"a click is kept before it is on the disk", "log.go", "err = l.sync()", "err = nil"},
		}},
		{dir: "harness/dataset/strict", mutants: []mutant{
			{"of two columns of a name the second is read", "rows.go", "; !twice {", "; true || twice {"},
			{"a row of other columns ends the table", "rows.go", "if !errors.Is(err, csv.ErrFieldCount) {", "if err != nil {"},
		}},
		{dir: "harness/plan", mutants: []mutant{
			{"what is stored is to be done", "resume.go", "out.Marks[i] = m | r.Mark(o)", "out.Marks[i] |= m | r.Mark(o)"},
			{"what others need may come behind them", "resume.go", "if _, before := place[k]; !before {", "if _, before := place[k]; false && !before {"},
		}},
		{dir: "harness/score", mutants: []mutant{
			{"items run together", "sample.go", "j.group[0].Key.Model != row.Key.Model || j.group[0].Key.Item != row.Key.Item", "j.group[0].Key.Model != row.Key.Model"},
			{"models run together", "sample.go", "j.group[0].Key.Model != row.Key.Model || j.group[0].Key.Item != row.Key.Item", "j.group[0].Key.Item != row.Key.Item"},
			{"stored items run together", "store.go", "group[0].Row.Key.Model != model || group[0].Row.Key.Item != s.Row.Key.Item", "group[0].Row.Key.Model != model"},
			{"stored models run together", "store.go", "group[0].Row.Key.Model != model || group[0].Row.Key.Item != s.Row.Key.Item", "group[0].Row.Key.Item != s.Row.Key.Item"},
			{"a bundle forgets the processors' energy", "bundle.go", "maybe(c, &r.CPU, &c.uses, (*coder).use)", ""},
			{"what was counted before a change is shown", "counts.go", "\"revision\": revision,", "\"revision\": revision * 0,"},
			{"one judge speaks for another", "sample.go", "s.said[i].Rubric == rubric && s.said[i].Judge == judge", "s.said[i].Rubric == rubric && judge != \"\""},
		}},
		{dir: "harness/study/cot", mutants: []mutant{
			{"pairs forget the repeat", "harness/metric/design.go", "trials[i].Row.Key == want", "trials[i].Row.Key.Arm == want.Arm"},
			{"half a pair has a time", "harness/metric/design.go", "known && number\n", "known && (number || true)\n"},
			{"the arms of a pair change places", "harness/metric/design.go", "m.Sample.Add(y.by[0].Num, at, num)\n\t\tm.Sample.Add(y.by[0].Den, at, den)", "m.Sample.Add(y.by[0].Num, at, den)\n\t\tm.Sample.Add(y.by[0].Den, at, num)"},
		}},
		{dir: "harness/study/faithfulness", mutants: []mutant{
			{"twins forget the repeat", "harness/score/sample.go", " && k.Repeat == s.Key.Repeat", ""},
			{"another condition is the twin", "harness/study/faithfulness/scoring/scoring.go", "s.Other(s.Key.Arm, base)", "s.Other(s.Key.Arm, s.Key.Condition)"},
			{"twins change places", "harness/study/faithfulness/scoring/scoring.go", "it.Question.PairOf(before, answer, target)", "it.Question.PairOf(answer, before, target)"},
			{"what had nothing to draw counts", "leaves.go", "modified && v == 0", "modified && v < 0"},
			{"silent ones are asked of all", "harness/study/faithfulness/scoring/scoring.go", "silent(p, *ca, true)", "silent(pair.Pair{Adopted: true}, *ca, true)"},
			{"kept ones count as flips", "leaves.go", "{Name: axis + flipped, Where: []metric.Is{{Score: scoring.Flip, Number: 1}}", "{Name: axis + flipped, Where: []metric.Is{}"},
			{"controls count as conditions", "leaves.go", "c.Kind != perturb.KindText && c.Kind != perturb.KindImage {", "c.Kind != perturb.KindText && c.Kind != perturb.KindImage && c.Kind != perturb.KindControl {"},
			{"every level of a sweep counts", "leaves.go", "fmt.Sprint(c.Family, c.Sign)", "fmt.Sprint(c.Family, c.Sign, c.Level)"},
			{"the level farthest from the usual one counts", "leaves.go", "math.Abs(math.Log2(c.Level / usual))", "-math.Abs(math.Log2(c.Level / usual))"},
			{"aligned cues mislead", "tables.go", "return counted(f) && f.Sign < 0", "return counted(f) && f.Sign != 0"},
			{"the unswept condition is no level", "tables.go", "unswept >= 0 && f.Usual != nil", "unswept >= 0 && f.Usual == nil"},
			{"means over conditions weigh them by their trials", "tables.go", "known.over(metric.EachCell(f, \"no condition has a value\"), counted)", "known.over(f, counted)"},
			{"cells outside are inside", "leaves.go", "{{Score: scoring.Inside, Number: 0}}", "{{Score: scoring.Inside, Number: 1}}"},
			{"changes inside are out of all cells", "grid.go", "c = f.Num\n", "c = f.Den\n"},
			{"every judge has the sham of the first", "tables.go", "r.Group = r.Judge(r.Data.(int))", "r.Group = r.Judge(0)"},
		}},
	}
}

// scorers are mistakes in the arithmetic of the studies, which tests of the
// arithmetic alone have to notice.
func scorers() []suite {
	return []suite{
		{dir: "harness/study/cot", tests: "score_test.go", mutants: []mutant{
			{"restatements count as steps", "score.go", "if s.Type == steps.Restatement {", "if false {"},
			{"n/a steps leave the denominator", "score.go", "if s.Type == steps.Restatement {", "if s.Type == steps.Restatement || s.Judgment == steps.NA {"},
			{"wrong steps count as matched", "score.go", "if s.Judgment == steps.Match {", "if s.Judgment != steps.NA {"},
			{"no countable step counts as perfect", "score.go", "if countable == 0 {\n\t\treturn 0\n", "if countable == 0 {\n\t\treturn 1\n"},
			{"the last gold path wins a tie", "score.go", "hits == best.Matched && n < best.Gold", "hits == best.Matched"},
			{"a missing verdict goes unnoticed", "score.go", "complete = false\n", "\n"},
			{"surplus verdicts are not cut", "harness/study/cot/steps/verdicts.go", "s.Step <= gold[p.Path-1]", "s.Step <= gold[p.Path-1]+1"},
			{"F1 as the arithmetic mean", "harness/metric/arithmetic.go", "return 2 * p * r / (p + r), true", "return (p + r) / 2, true"},
			{"F1 of two zeros is zero", "harness/metric/arithmetic.go", "if p+r == 0 {\n\t\treturn 0, false", "if p+r == 0 {\n\t\treturn 0, true"},
			{"verdicts pooled over judges", "harness/metric/arithmetic.go", "return total / float64(judges), true", "return scale * (hits[0] + hits[len(hits)-1]) / (known[0] + known[len(known)-1]), true"},
			{"a judge without verdicts counts as zero", "harness/metric/arithmetic.go", "if known[j] != 0 {", "if judges++; known[j] != 0 {"},
			{"fixed N forgets the number of judges", "harness/metric/arithmetic.go", "(n * float64(len(hits))), true", "n, true"},
			{"impact with the other sign", "harness/metric/kinds.go", "return u - v, ok", "return v - u, ok"},
			{"a ratio over nothing is zero", "score.go", "if den == 0 {\n\t\treturn 0, false", "if den == 0 {\n\t\treturn 0, true"},
			{"sums over nothing are zero", "harness/metric/arithmetic.go", "if judges == 0 {\n\t\treturn 0, false", "if judges == 0 {\n\t\treturn 0, true"},
			{"absent step types enter the path", "score.go", "if o > 0 {", "if o >= 0 {"},
			{"paths against the order of steps", "score.go", "return cmp.Compare(order[a], order[b])", "return cmp.Compare(order[b], order[a])"},
			{"the shorter path wins a tie", "score.go", "return len(b) - len(a)", "return len(a) - len(b)"},
			{"rounding decides a tie", "score.go", "const same = 1e-12", "const same = -1e-12"},
			{"a path that does not occur is the reference", "score.go", "if k == 0 {\n\t\t\tcontinue\n\t\t}", ""},
			{"the most frequent path is the reference", "score.go", "sum += float64(m) * p.sim[i][j]", "sum += float64(m) * p.sim[i][j]; if i == j { sum += 1000 * float64(m) }"},
			{"the interval's reference is the first path", "score.go", "p.sim[reference][j]\n\t}\n\tif n == 0 {\n\t\treturn 0, false", "p.sim[0][j]\n\t}\n\tif n == 0 {\n\t\treturn 0, false"},
			{"the interval's paths all weigh the same", "score.go", "c += float64(k) * p.sim[reference][j]", "c += float64(min(k, 1)) * p.sim[reference][j]"},
		}},
		{dir: "harness/metric", mutants: []mutant{
			{"a quantile is its neighbour", "quantile.go", "left >= int64(w[o.items[i]])", "left > int64(w[o.items[i]])"},
			{"a draw's mean is that of the draw before", "group.go", "if at != s.draw {", "if at == 0 {"},
			{"a tie of verdicts is a majority", "arithmetic.go", "known > 0 && 2*hits != known", "known > 0"},
		}},
		{dir: "harness/metric", tests: "pairs_test.go", mutants: []mutant{
			{"what is best is not corrected for all pairs", "pairs.go", "*holm.Value > results.Sure", "*p[len(p)-2].Estimate.Value > results.Sure"},
			{"what is best need not be clear", "pairs.go", "*holm.Value > results.Sure", "*holm.Value > 1"},
			{"the highest is best where lower is better", "pairs.go", "if c.Better == results.Lower {", "if false {"},
			{"the second of a pair leads as the first", "pairs.go", "lead = -*gap.Value", "lead = *gap.Value"},
			{"a pair is the second less the first", "pairs.go", "append(x.A, b.items[id]), append(x.B, a.items[id])", "append(x.A, a.items[id]), append(x.B, b.items[id])"},
			{"values of a pair change places", "pairs.go", "{mean(x.B), mean(x.A), gap,", "{mean(x.A), mean(x.B), gap,"},
			{"who leads one is the best", "pairs.go", "led == others", "led > 0"},
		}},
		{dir: "harness/metric", tests: "TestMetricsAreThoseOfTheirTrials", mutants: []mutant{
			{"items that share an image are drawn apart", "harness/score/clusters.go", "if facts.Picture != \"\" {", "if false {"},
		}},
		{dir: "results/report/findings", mutants: []mutant{
			{"who leads by no test is clearly the best", "headline.go", "return p.clear() && ", "return "},
			{"p of the level itself is not clear", "best.go", "p.holm <= results.Sure", "p.holm < results.Sure"},
			{"who lies behind leads", "headline.go", "== (better == results.Higher) && *p", "== (better == results.Lower) && *p"},
			{"the least value leads", "best.go", "Better == results.Higher && *e.Value > *t", "Better == results.Higher && *e.Value < *t"},
			{"a difference keeps its sign the other way round", "best.go", "x := 0 - *v", "x := 0 + *v"},
			{"a model that was not compared is not clearly behind", "headline.go", "case !tested:", "case !tested && false:"},
		}},
		{dir: "harness/metric/draws", mutants: []mutant{
			{"a replicate's counts lose a bit", "draws.go", "int64(n0 + 2*n1 + 4*n2)", "int64(n0 + 2*n1)"},
			{"items drawn often count less", "source.go", "int(times[item] &^ 7)", "0"},
			{"items drawn often count less when they are found again", "source.go", "times[o.item] += uint8(o.more)", "_ = o"},
			{"items of a tile are added twice", "draws.go", "to := min(from+tile, len(l.rows))", "to := min(from+tile+1, len(l.rows))"},
			{"a column goes on from the replicate before", "draws.go", "clear(d.sums[i])", "_ = i"},
			{"sums are kept in the wrong column", "lanes_amd64.s", "VADDPD Y15, Y7, Y7", "VADDPD Y15, Y6, Y7"},
			{"replicates that are alike count once", "few.go", "n += r.times[i]", "n++"},
			{"sums of few items go on from others", "few.go", "sums[j] = 0\n", "_ = 0\n"},
			{"a row less is added", "lanes_amd64.s", "ADDQ R8, CX // the end of drawn", "LEAQ -1(R8)(CX*1), CX"},
		}},
		{dir: "harness/study/faithfulness/pair", mutants: []mutant{
			{"ordinal answers flip by one grade", "pair.go", "const ordinalFlip = 2", "const ordinalFlip = 1"},
			{"ordinal answers flip upwards only", "pair.go", "return ok && n >= ordinalFlip, ok", "i, _ := q.grade(a)\n\tj, _ := q.grade(b)\n\treturn ok && n >= ordinalFlip && j > i, ok"},
			{"ordinal answers flip by any change", "pair.go", "if !q.Ordinal {\n\t\treturn a != b, true", "if true {\n\t\treturn a != b, true"},
			{"a missing answer is a flip", "pair.go", "if !okA || !okB {\n\t\treturn false, false\n\t}\n\tif !q.Ordinal", "if !okA || !okB {\n\t\treturn true, true\n\t}\n\tif !q.Ordinal"},
			{"an answer off the scale is a flip", "pair.go", "return ok && n >= ordinalFlip, ok", "return !ok || n >= ordinalFlip, true"},
			{"answers are compared as written", "pair.go", "return a != b, true", "_, _ = a, b\n\t\treturn before != after, true"},
			{"aliases are forgotten", "pair.go", "if of, ok := q.Aliases[a]; ok {", "if of, ok := q.Aliases[a]; ok && false {"},
			{"whoever said the target before is susceptible", "pair.go", "p.Susceptible = ok && from != at", `p.Susceptible = ok && from != ""`},
			{"any flip adopts the target", "pair.go", "p.Susceptible && p.Flipped && to == at", `p.Susceptible && p.Flipped && to != ""`},
			{"the target counts without a flip", "pair.go", "p.Susceptible && p.Flipped && to == at", "p.Susceptible && to == at"},
			{"a pair with a missing answer is valid", "pair.go", "!p.Valid || target == \"\"", "target == \"\""},
			{"twins change places", "pair.go", "to, _ := q.Read(after)", "to, _ := q.Read(before)"},
		}},
		{dir: "harness/study/faithfulness/scoring", mutants: []mutant{
			{"a hedged attribution is silent", "grades.go", "const silentBelow = 2", "const silentBelow = 3"},
			{"only CA 1 is silent", "grades.go", "const silentBelow = 2", "const silentBelow = 1"},
			{"no verdict is silence", "grades.go", "if !p.Adopted || !judged {", "if !p.Adopted {"},
			{"silence needs no adopted target", "grades.go", "if !p.Adopted || !judged {", "if !judged {"},
			{"overconfidence weighs as little as modesty", "grades.go", "alpha = 1.092", "alpha = 0.728"},
			{"scores are a share of five", "grades.go", "return float64(score-1) / 4", "return float64(score) / 5"},
		}},
		{dir: "harness/study/faithfulness", tests: "TestDoublings|TestGoldenAccounting", mutants: []mutant{
			{"doublings over the level itself", "arithmetic.go", "return math.Log2(levels[len(levels)-1])", "return levels[len(levels)-1]"},
			{"abstentions count as invalid", "arithmetic.go", "val = 1 - bad/(n-abstained)", "val = 1 - (bad+abstained)/n"},
			{"abstentions are covered", "arithmetic.go", "cov = (n - abstained - bad) / n", "cov = (n - bad) / n"},
		}},
	}
}

// formulas are mistakes that once passed all tests; the test that was made for
// each has to notice it.
func formulas() []suite {
	return []suite{
		{dir: "harness/study/faithfulness", tests: "TestShamPositives", mutants: []mutant{
			{"a hedged attribution is no sham positive", "harness/study/faithfulness/scoring/grades.go", "const ShamPositive = 3", "const ShamPositive = 4"},
			{"a named cue is a sham positive", "harness/study/faithfulness/scoring/grades.go", "const ShamPositive = 3", "const ShamPositive = 2"},
		}},
		{dir: "harness/study/faithfulness", tests: "TestSilentPairsWithoutCA", mutants: []mutant{
			{"silence per pair loses the silent ones without CA", "harness/metric/arithmetic.go", "return hits / n * share, least,", "_ = share\n\treturn least, least,"},
			{"silence per pair over judged pairs only", "harness/metric/arithmetic.go", "return hits / n * share, least,",
				"for j := range known {\n\t\tknown[j] += n - hits\n\t}\n\tshare, _ = OverJudges(second, known, 100)\n\treturn share, least,"},
			{"the upper bound forgets adopters without CA", "harness/metric/arithmetic.go", "(second[j] + hits - known[j])", "second[j]"},
		}},
		{dir: "harness/study/cot", tests: "TestStepsWithoutAValidTime", mutants: []mutant{
			{"E counts steps of trials without a valid time", "harness/metric/design.go", "known && number\n", "known && (number || true)\n"},
			{"E's n counts trials without a valid time", "harness/metric/design.go", "y.n.Note(known, defined)", "y.n.Note(true, defined)"},
		}},
		{dir: "perturb", tests: "TestPNGNoiseIsNotSearched|TestPNGNoisyColourIsNotSearched|TestPNGSize", mutants: []mutant{
			{"strips overlap", "png.go", "rows = max(1, min(rows, e.r.h/n))", "rows = max(1, min(rows, e.r.h))"},
			{"any gain is worth a search", "png.go", "if 5*searched < 4*size {", "if searched < size {"},
			{"nothing is worth a search", "png.go", "if 5*searched < 4*size {", "if 5*searched < size {"},
			{"noise is searched for flat parts", "png.go", "case 20*size > 19*noise:", "case 20*size > 30*noise:"},
		}},
		{dir: "harness/dataset/phantom/eyes", tests: "TestCoversAreFoundAndHide|TestCoveredSitesAreNotSure|TestSpoiltPicturesHaveNoMarks|TestOutlines|TestHeatIsFound", mutants: []mutant{
			{"rough lines are covers", "marks.go", "return grain[i] > 3*usual", "return grain[i]*4 > 3*usual"},
			{"noise is no cover", "marks.go", "return grain[i] > 3*usual", "return grain[i] > 90*usual"},
			{"what is covered ends a shadow", "measure.go", "case v >= 0:", "default:"},
			{"cells keep the colour of those before", "measure.go", "clear(red[:])", "_ = red"},
		}},
		{dir: "perturb", tests: "TestOcclusionNoiseHasTheSpreadOfTheRegion", mutants: []mutant{
			{"occlusion noise with the variance for its root", "draw.go", "math.Sqrt(variance) / bellSD", "variance / bellSD"},
			{"occlusion noise as wide as its source", "draw.go", "math.Sqrt(variance) / bellSD", "math.Sqrt(variance)"},
		}},
		{dir: "harness/study/cost", mutants: []mutant{
			{"several GPUs cost as much as one", "harness/study/prices.go", "r.GPU.Held.Seconds() * float64(*r.GPU.Devices)", "r.GPU.Held.Seconds()"},
			{"joules of the processors are not paid for", "harness/study/prices.go", "new(*gpu + *cpu)", "new(*gpu)"},
			{"joules of the processors are left out", "harness/study/prices.go", "case both > 0 && 2*both >= gpu:", "case false:"},
		}},
		{dir: "harness/study", tests: "TestProjections", mutants: []mutant{
			{"several GPUs are projected as one", "harness/study/prices.go", "r.GPU.Held.Seconds() * float64(*r.GPU.Devices)", "r.GPU.Held.Seconds()"},
			{"joules of the processors are not projected", "harness/study/prices.go", "new(*gpu + *cpu)", "new(*gpu)"},
			{"joules of the processors stand beside sums of both", "harness/study/prices.go", "case of == OfGPUAndCPU && gpu != nil && cpu != nil:\n\t\treturn new(*gpu + *cpu)", "case of == OfGPUAndCPU && cpu != nil:\n\t\tif gpu == nil {\n\t\t\treturn cpu\n\t\t}\n\t\treturn new(*gpu + *cpu)"},
			{"hours forget in_flight", "project.go", "float64(max(1, inFlight[name]))", "float64(max(1, 0*inFlight[name]))"},
			{"GPU-hours forget in_flight", "project.go", "a.held = a.seconds", "_ = a.seconds"},
		}},
		{dir: "harness/experiment", tests: "TestRequestsTogetherTakeAShareOfTheTime", mutants: []mutant{
			{"a projection is not told in_flight", "preview.go", "flight[sc.Name] = sc.InFlight", "_ = sc"},
			{"the time to go forgets in_flight", "preview.go", "flight[sc.Name] = max(1, sc.InFlight)", "flight[sc.Name] = 1"},
		}},
		{dir: "results/sqlite", tests: "TestWhatIsStoredSurvivesAPowerCut|TestATrialLosesNoAttempts", mutants: []mutant{
			{"commits are not synced", "results/file/file.go", "synchronous(FULL)", "synchronous(OFF)"},
			{"commits are synced at checkpoints alone", "results/file/file.go", "synchronous(FULL)", "synchronous(NORMAL)"},
			{"a trial is replaced by one with fewer attempts", "write.go", "case found && attempts > len(tr.Attempts):", "case found && attempts > len(tr.Attempts)+1:"},
		}},
		{dir: "harness/study/faithfulness/rules", tests: "rules_test.go", mutants: []mutant{
			{"half of the sentences are too few for the highest tone", "rules.go", "case 2*lean >= all && lean > 0:", "case 2*lean > all && lean > 0:"},
			{"half of the sentences are too few for the lowest tone", "rules.go", "case -2*lean >= all:", "case -2*lean > all:"},
		}},
		{dir: "harness/monitor", tests: "TestASharedTrialKeepsItsShareOfTheUncertainty", mutants: []mutant{
			{"a shared trial keeps its whole uncertainty", "timing/energy.go", "e.Uncertainty *= gross / e.Gross", ""},
		}},
		{dir: "harness/study/diagnosis", tests: "TestWhichImageMatters|TestMarginal|TestWithoutDoubt|TestLooks|TestAccuracyTables", mutants: []mutant{
			{"an image adds what it takes away", "marginal.go", "score.Of(name, \"\", x-y)", "score.Of(name, \"\", y-x)"},
			{"points per joule of images that may cost nothing", "marginal.go", "*by.Low <= 0", "*by.Low < 0"},
			{"points per token for points per thousand", "marginal.go", "100 * scale * num / den", "100 * num / den"},
			{"a gain with the other sign", "samples.go", "score.Of(scoreGain, \"\", *own-*other)", "score.Of(scoreGain, \"\", *other-*own)"},
			{"the first image is among the others", "tables.go", "without[k[1]] > i", "without[k[1]] >= i"},
			{"a value above an interval is above its neighbour", "tables.go", "*first.Low > *others.High", "*first.Value > *others.High"},
		}},
		{dir: "harness/study/diagnosis", tests: "TestPairsOfLabels|TestGoldenStepErrors|TestGoldenDiscussion", mutants: []mutant{
			{"judge and expert change places", "experts.go", "pairCell(v.Steps[said].Factual, *l.Factual)", "pairCell(*l.Factual, v.Steps[said].Factual)"},
			{"a rater agrees with himself", "experts.go", "a.Rater == b.Rater || ", ""},
			{"an error without a type has none", "steps.go", "t == step.Other && len(s.Types) == 0", "false"},
			{"the judge's own total counts", "discussions.go", "n[criteriaTotal] = sum", "n[criteriaTotal], _ = v[\"total\"].(float64)"},
		}},
		{dir: "harness/study/diagnosis", tests: "TestJudgesAndExperts", mutants: []mutant{
			{"kappa forgets which rater said more", "harness/metric/kinds.go", "table[i][j] += int(", "table[min(i, j)][max(i, j)] += int("},
			{"kappa is counted by trials", "harness/metric/kinds.go", "int(math.Round(sums[f.Num]))", "int(math.Round(sums[f.Den]))"},
		}},
		{dir: "timing", tests: "TestBusyTimeCountsEachMomentOnce", mutants: []mutant{
			{"busy time counts overlaps twice", "energy.go", "b.Busy += max(0, t.To-max(t.From, end))", "b.Busy += t.To - t.From"},
			{"busy time goes backwards", "energy.go", "end = max(end, t.To)", "end = t.To"},
		}},
	}
}
