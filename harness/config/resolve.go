package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"assay/backends"
	"assay/harness/dataset"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

func (c *checker) config(root *Node) *Config {
	cfg := &Config{Prompts: map[string]string{}}
	s := c.section(root, "", "name", "seed", "store", "rules", "datasets", "backends", "models", "judges", "ops", "texts", "studies", "prompts", "telemetry", "cost")
	for _, key := range []string{"name", "datasets", "backends", "models", "studies"} {
		s.need(key)
	}
	if w, ok := s.text("name"); ok {
		cfg.Name = w.text
		if !name(w.text) || strings.ContainsAny(w.text, "/:@+") {
			c.Errorf(w.at, w.path, "expected letters, digits and . _ - that begin with a letter or digit, found %s", shown(w.text))
		}
	}
	cfg.Seed = s.seed()
	cfg.Store = c.path(".assay/" + cfg.Name + ".sqlite")
	if w, ok := s.text("store"); ok {
		cfg.Store = c.path(w.text)
		if info, err := c.files.Stat(cfg.Store); err == nil && info.IsDir() {
			c.Errorf(w.at, w.path, "expected the path of a file, found a folder at %s; add a file name", shown(cfg.Store))
		}
	}
	cfg.Rules = results.RulesPaper
	if s.get("rules") != nil {
		cfg.Rules = s.choice("rules", results.Rules()...)
	}

	c.datasets.section, c.backends.section, c.models.section, c.judges.section = "datasets", "backends", "models", "judges"
	c.named(s, "datasets", func(name string, e entry) {
		c.datasets.add(e)
		d := c.dataset(cfg, name, e.Value)
		d.At = fmt.Sprintf("%s:%d:%d", c.File, e.At.Line, e.At.Column)
		cfg.Datasets = append(cfg.Datasets, d)
	})
	c.named(s, "backends", func(name string, e entry) {
		c.backends.add(e)
		cfg.Backends = append(cfg.Backends, c.backend(name, e.Value))
	})
	c.named(s, "models", func(name string, e entry) {
		c.models.add(e)
		cfg.Models = append(cfg.Models, c.model(cfg, name, e.Value))
	})
	if s.get("judges") != nil {
		c.named(s, "judges", func(name string, e entry) {
			c.judges.add(e)
			cfg.Judges = append(cfg.Judges, c.judge(cfg, name, e.Value))
		})
	}
	c.named(s, "ops", func(name string, e entry) { cfg.Own = append(cfg.Own, c.op(name, e)) })
	c.named(s, "texts", func(name string, e entry) { c.texts(cfg, name, e) })
	c.named(s, "studies", func(name string, e entry) {
		if c.refused(JoinPath("studies", name), e.At) {
			c.unsure, c.foreign = true, true
			return
		}
		known := c.studyNames()
		i := slices.IndexFunc(c.known.Studies, func(k StudyKind) bool { return k.Name == name })
		if i < 0 {
			c.unsure, c.foreign = true, true
			c.Errorf(e.At, "studies", "expected %s, found the unknown study %s%s", oneOf(known), shown(name), text.DidYouMean(name, known))
			return
		}
		cfg.Studies = append(cfg.Studies, c.study(cfg, c.known.Studies[i], e.Value))
	})
	c.prompts(s, cfg)
	cfg.Telemetry, cfg.Cost = c.telemetry(s), c.cost(s)
	c.unused(&c.datasets, "study")
	c.unused(&c.models, "study")
	c.unused(&c.judges, "rubric")
	c.unused(&c.backends, "model or judge")
	return cfg
}

// seed has the whole range of uint64.
func (s section) seed() uint64 {
	s.asks("seed", Rule{Type: Whole, Least: "0", Most: strconv.FormatUint(math.MaxUint64, 10), Default: strconv.Itoa(defaultSeed)})
	n := s.get("seed")
	if n == nil {
		return defaultSeed
	}
	switch v := n.Value.(type) {
	case int64:
		if v >= 0 && decimal(n.Raw) {
			return uint64(v)
		}
	case uint64:
		if decimal(n.Raw) {
			return v
		}
	}
	s.wrong("seed", n, "expected a whole number from 0 to %d, found %s", uint64(math.MaxUint64), n.Found())
	return defaultSeed
}

func (c *checker) dataset(cfg *Config, name string, n *Node) dataset.Source {
	d := dataset.Source{Name: name, Seed: cfg.Seed}
	path := JoinPath("datasets", name)
	if d.Kind = c.kind(n, path, append(dataset.Kinds(), dataset.KindPhantom)); d.Kind == "" {
		return d
	}
	keys := dataset.Keys(d.Kind)
	names := []string{"kind"}
	for _, k := range keys {
		names = append(names, k.Name)
	}
	s := c.section(n, path, names...)
	d.Written = map[string]string{}
	for _, k := range keys {
		if k.Where != nil && k.Default != "" {
			*k.Where(&d), d.Written[k.Name] = k.Default, k.Default
		}
		if k.Word != nil {
			*k.Word(&d) = k.Default
			if k.Values != nil {
				s.asks(k.Name, Rule{Type: Choice, Values: k.Values, Default: k.Default})
			}
		}
		s.asks(k.Name, Rule{Needed: k.Needed})
		if s.get(k.Name) == nil {
			if k.Needed {
				s.need(k.Name)
			} else if k.Whole != nil {
				*k.Whole(&d) = k.Usual
			}
			continue
		}
		switch {
		case k.Whole != nil:
			*k.Whole(&d) = s.whole(k.Name, k.Usual, k.Least, k.Most)
		case k.Word != nil && k.Values == nil:
			w, _ := s.text(k.Name)
			*k.Word(&d) = w.text
		case k.Word != nil:
			*k.Word(&d) = s.choice(k.Name, k.Values...)
		case k.Map != nil:
			*k.Map(&d) = s.columns(k.Name)
		case k.List != nil:
			list, _ := s.words(k.Name)
			for _, w := range list {
				*k.List(&d) = append(*k.List(&d), w.text)
			}
		case k.Flag != nil && len(k.Values) == 2:
			*k.Flag(&d) = s.choice(k.Name, k.Values...) == k.Values[1]
		case k.Flag != nil:
			if yes := s.flag(k.Name); yes != nil {
				*k.Flag(&d) = *yes
			}
		default:
			*k.Where(&d), d.Written[k.Name] = s.place(k)
		}
	}
	return d
}

// columns say what the columns of a table hold: {image: scan, options: [A, B, C]}.
func (s section) columns(key string) dataset.Mapping {
	var fields []string
	for _, f := range dataset.Fields() {
		fields = append(fields, f.Name)
	}
	path := JoinPath(s.path, key)
	in := s.c.section(s.get(key), path, fields...)
	out := dataset.Mapping{}
	for _, f := range fields {
		n := in.get(f)
		switch {
		case n == nil:
		case n.Kind == isList:
			for _, w := range s.c.words(n, JoinPath(path, f)) {
				out[f] = append(out[f], w.text)
			}
		default:
			if w, ok := in.text(f); ok {
				out[f] = []string{w.text}
			}
		}
	}
	return out
}

// place is where a data set's files are; a name may stand for one.
func (s section) place(k dataset.Key) (resolved, written string) {
	w, ok := s.text(k.Name)
	s.asks(k.Name, Rule{Type: map[bool]valueType{true: Folder, false: File}[k.Folder], Names: k.Names, Default: k.Default})
	if !ok || slices.Contains(k.Names, w.text) {
		return w.text, w.text
	}
	p := s.c.path(w.text)
	info, err := s.c.files.Stat(p)
	switch {
	case len(k.Names) > 0 && (err != nil || info.IsDir()):
		s.c.Errorf(w.at, w.path, "expected %s, which is built in, or a file, found neither at %s%s", oneOf(k.Names), shown(p), text.DidYouMean(w.text, k.Names))
	case err == nil && !info.IsDir() && !info.Mode().IsRegular() && !k.Folder:
		s.c.Errorf(w.at, w.path, "expected a regular file, found a pipe, a socket or a device at %s", shown(p))
	default:
		p = s.c.exists(w, k.Folder || k.Either && err == nil && info.IsDir())
	}
	return p, w.text
}

// kind is the key kind of a mapping, before it is known which other keys it
// may have. "": not known, and that was reported.
func (c *checker) kind(n *Node, path string, kinds []string) string {
	if !c.mapping(n, path) {
		return ""
	}
	s := section{c: c, n: n, path: path}
	s.asks("kind", Rule{Needed: true})
	for _, e := range n.Entries {
		if e.Key == "kind" {
			c.seen.Kind(path, e.Value.Raw)
			return s.choice("kind", kinds...)
		}
	}
	c.lost(path)
	c.Errorf(n.At, path, "expected the key kind (%s), found none; add it", strings.Join(kinds, ", "))
	return ""
}

func (c *checker) backend(name string, n *Node) backends.Server {
	b := backends.Server{Name: name}
	path := JoinPath("backends", name)
	b.Kind = c.kind(n, path, kindNames(c.known.Kinds))
	if b.Kind == "" {
		c.kindless(n, path)
		return b
	}
	if b.Phantom() {
		s := c.section(n, path, "kind", "protocol", "caches", "slots", "options")
		if s.need("protocol") {
			b.Protocol = s.choice("protocol", c.known.Protocols...)
		}
		s.fill(&b)
		b.Options = s.options()
		return b
	}
	if b.Imported() {
		c.section(n, path, "kind")
		return b
	}
	var more, omits []string
	for _, k := range c.known.Kinds {
		if k.Name == b.Kind && k.Omits != nil {
			more, omits = []string{"omit"}, k.Omits
		}
	}
	s := c.section(n, path, append([]string{"kind", "url", "options", "api_key_env", "api_key_file", "ca_file", "command", "start_timeout", "restarts", "shares_gpu", "place", "port"}, more...)...)
	local := false
	if b.Port = s.port(); s.need("url") {
		b.URL, local = s.url(b.Port)
	}
	if s.get("place") != nil {
		if b.Place = s.choice("place", "local", "remote"); b.Place != "" {
			local = b.Place == "local"
		}
	}
	b.Options = s.options()
	if more != nil {
		b.Omit = s.omit(omits)
	}
	b.KeyEnv, b.KeyFile = s.key(local)
	b.CAFile = s.file("ca_file")
	if w, ok := s.text("ca_file"); ok && b.URL != "" && !strings.HasPrefix(b.URL, "https://") {
		c.Errorf(w.at, w.path, "expected no certificates for a server without TLS, found some; write https:// in url, or remove ca_file")
	}
	s.managed(&b, local)
	return b
}

func kindNames(kinds []ServerKind) (out []string) {
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// omit are fields of requests that are left out.
func (s section) omit(known []string) (out []string) {
	list, _ := s.words("omit")
	for _, w := range list {
		if !slices.Contains(known, w.text) {
			s.c.Errorf(w.at, w.path, "expected %s, found %s%s", oneOf(known), shown(w.text), text.DidYouMean(w.text, known))
		}
		out = append(out, w.text)
	}
	return out
}

// key is where an API key is. local: the server is on this machine.
func (s section) key(local bool) (env, file string) {
	if w, ok := s.text("api_key_env"); ok {
		switch {
		case !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(w.text):
			// The text is not shown: it may be the key itself.
			s.c.Errorf(w.at, w.path, "expected the name of an environment variable, found something else; name the variable, not the key")
		case s.get("api_key_file") != nil:
			s.c.Errorf(w.at, w.path, "expected either api_key_env or api_key_file, found both; remove one")
		case local:
			s.c.Errorf(w.at, w.path, "expected no key from the environment for a server on this machine, found one; a server that wants a key gets it from api_key_file")
		}
		env = w.text
	}
	return env, s.file("api_key_file")
}

// kindless still finds the secrets and unbuilt features of a backend whose kind is not known.
func (c *checker) kindless(n *Node, path string) {
	for _, e := range n.Entries {
		if e.Key != "kind" {
			c.refused(JoinPath(path, e.Key), e.At)
		}
	}
}

// port is what {port} in url and command stands for; 0: it is not in url.
func (s section) port() int {
	n, used := s.get("port"), false
	if u := s.get("url"); u != nil && u.Kind == isText {
		used = strings.Contains(u.Raw, "{port}")
	}
	switch {
	case n == nil && used:
		s.wrong("url", s.get("url"), "expected a key port beside {port}, found none; write port: 8080")
	case n != nil && !used:
		s.wrong("port", n, "expected {port} in url where a port is given, found none; write url: \"http://127.0.0.1:{port}\"")
	case n != nil:
		return s.whole("port", 0, 1, 65535)
	}
	return 0
}

// url checks a server's address. local: it is this machine.
func (s section) url(port int) (address string, local bool) {
	w, ok := s.text("url")
	if !ok {
		return "", false
	}
	if strings.Contains(w.text, "{port}") {
		if port == 0 {
			return "", false // said already
		}
		w.text = strings.ReplaceAll(w.text, "{port}", strconv.Itoa(port))
	}
	address, local, found := readAddress(w.text)
	if found != "" {
		s.c.Errorf(w.at, w.path, "expected a server's address such as http://127.0.0.1:8080, found %s", found)
	}
	return address, local
}

// options are passed on as they are, so any value will do that JSON has.
func (s section) options() map[string]any {
	n := s.get("options")
	s.asks("options", Rule{Type: Mapping})
	if n == nil || !s.c.mapping(n, JoinPath(s.path, "options")) {
		return nil
	}
	s.c.option(n, JoinPath(s.path, "options"))
	return n.Plain().(map[string]any)
}

func (c *checker) option(n *Node, path string) {
	for _, e := range n.Entries {
		if slices.Contains(secretKeys(), e.Key) && e.Value.Kind == isText {
			c.Errorf(e.At, JoinPath(path, e.Key), "expected no secret in this file; use api_key_env or api_key_file of the backend")
		}
		c.option(e.Value, JoinPath(path, e.Key))
	}
	for i, it := range n.Items {
		c.option(it, fmt.Sprintf("%s[%d]", path, i))
	}
	if v, ok := n.Value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
		c.Errorf(n.At, path, "expected a finite number, found %s", n.Found())
	}
}

func (c *checker) model(cfg *Config, name string, n *Node) backends.Model {
	m := backends.Model{Name: name, Model: name}
	s := c.section(n, JoinPath("models", name), "backend", "model", "think", "vision", "group", "parameters")
	var phantom bool
	m.Backend, phantom = c.server(cfg, s)
	m.Model = c.tag(s, name, phantom)
	s.fill(&m)
	m.Groups = s.groups()
	return m
}

// groups is the key group of a model: one name, or several.
func (s section) groups() (out []string) {
	s.asks("group", Rule{Type: List})
	n := s.get("group")
	if n == nil {
		return nil
	}
	var list []word
	switch n.Kind {
	case isText:
		if w, ok := s.text("group"); ok {
			list = []word{w}
		}
	case isList:
		list, _ = s.words("group")
	default:
		s.wrong("group", n, "expected a name or a list of names, as open or [open, medical], found %s", n.Found())
	}
	for _, w := range list {
		out = append(out, w.text)
	}
	return out
}

// server is the key backend of a model or judge.
func (c *checker) server(cfg *Config, s section) (name string, phantom bool) {
	if !s.need("backend") {
		return "", false
	}
	w, ok := s.text("backend")
	if !ok || !c.refer(&c.backends, w) {
		return "", false
	}
	b, _ := cfg.Backend(w.text)
	return w.text, b.Phantom()
}

// tag is the key model: the server's own name. A phantom's must exist.
func (c *checker) tag(s section, def string, phantom bool) string {
	w, ok := s.text("model")
	if !ok {
		if s.get("model") != nil {
			return ""
		}
		w = word{def, s.n.At, s.path}
	}
	if phantom && !slices.Contains(c.known.Phantoms, w.text) {
		c.Errorf(w.at, w.path, "expected a phantom reader (%s), found %s%s", strings.Join(c.known.Phantoms, ", "), shown(w.text), text.DidYouMean(w.text, c.known.Phantoms))
	}
	return w.text
}

func (c *checker) judge(cfg *Config, name string, n *Node) Judge {
	j := Judge{Name: name, Kind: "model"}
	path := JoinPath("judges", name)
	if !c.mapping(n, path) {
		return j
	}
	plain := section{c: c, n: n, path: path}
	if plain.get("kind") != nil {
		var kinds []string
		for _, k := range c.known.Judges {
			kinds = append(kinds, k.Name)
		}
		c.seen.Kind(path, plain.get("kind").Raw)
		if j.Kind = plain.choice("kind", kinds...); j.Kind == "" {
			return j
		}
	}
	j.Keys = c.known.judge(j.Kind).Keys
	if !c.known.judge(j.Kind).Asks && j.Kind != judgeHosted {
		c.ownKeys(&j, n, path)
		return j
	}
	j.InFlight, j.Timeouts = defaultInFlight, defaultTimeouts()
	j.Sampling = backends.Sampling{MaxTokens: defaultJudgeMaxTokens, Seed: defaultSamplingSeed()}
	if j.Kind == judgeHosted {
		c.hosted(&j, n, path, cfg.Rules)
		return j
	}
	if plain.get("backend") == nil && plain.get("kind") == nil {
		c.unsure = true
		c.Errorf(n.At, path, "expected kind: lexical, or the key backend, found neither; add one")
	} else {
		plain.need("backend")
	}
	s := c.section(n, path, "kind", "backend", "model", "in_flight", "sampling", "timeouts", "repeats", "repeat_share", "reads")
	if s.get("backend") != nil {
		var phantom bool
		j.Backend, phantom = c.server(cfg, s)
		if b, _ := cfg.Backend(j.Backend); b.Imported() {
			w, _ := s.text("backend")
			c.Errorf(w.at, w.path, "expected a server that can be asked, found %s, whose answers are imported; verdicts made elsewhere are a judge of kind: file", shown(w.text))
		}
		j.Model = c.tag(s, name, phantom)
	}
	s.fill(&j)
	s.repeated(&j)
	s.reads(&j, cfg.Rules)
	return j
}

// reads says which answers a judge reads.
func (s section) reads(j *Judge, of string) {
	j.Unread = s.choice("reads", "unread") != ""
	if n := s.get("reads"); n != nil && of == results.RulesReleased {
		s.wrong("reads", n, "expected nothing, because rules is released, found %s; the authors' code asks no judge which answer it reads", n.Found())
	}
}

// repeated says how often a judge that asks a model is shown the same case.
func (s section) repeated(j *Judge) {
	j.Repeats = s.whole("repeats", 0, 1, 100)
	if j.Repeats <= 1 {
		j.RepeatShare = s.number("repeat_share", defaultRepeatShare, 0, 1)
	} else if n := s.get("repeat_share"); n != nil {
		s.wrong("repeat_share", n, "expected nothing, because repeats is %d, found %s; every case is judged again as it is", j.Repeats, n.Found())
	}
}

// ownKeys are the keys of a judge that asks no model.
func (c *checker) ownKeys(j *Judge, n *Node, path string) {
	names := []string{"kind"}
	for _, k := range j.Keys {
		names = append(names, k.Name)
	}
	s := c.section(n, path, names...)
	j.Values = map[string]string{}
	for _, k := range j.Keys {
		if k.Need && !s.need(k.Name) || s.get(k.Name) == nil {
			continue
		}
		switch {
		case k.File:
			p := s.file(k.Name)
			if p == "" {
				continue
			}
			b, err := c.files.ReadFile(p)
			if err != nil {
				s.wrong(k.Name, s.get(k.Name), "expected a file that can be read, found %s at %s", cause(err), shown(p))
			}
			j.Values[k.Name], j.Content = p, b
		case k.Values != nil:
			j.Values[k.Name] = s.choice(k.Name, k.Values...)
		default:
			w, _ := s.text(k.Name)
			j.Values[k.Name] = w.text
		}
	}
}

func (c *checker) study(cfg *Config, known StudyKind, n *Node) Study {
	own := slices.DeleteFunc(slices.Clone(cfg.Own), func(o perturb.Condition) bool { return !known.may(o) })
	known.Any = append(slices.Clip(known.Any), own...)
	st := Study{Name: known.Name, Own: own, Repeats: 1, InFlight: 1, Shuffles: DefaultShuffles, Retries: defaultRetries, Backoff: time.Second, Timeouts: defaultTimeouts(),
		Sampling: backends.Sampling{Temperature: defaultTemperature, MaxTokens: defaultMaxTokens, Seed: defaultSamplingSeed()}}
	s := c.section(n, JoinPath("studies", known.Name), "dataset", "models", "arms", "select", "repeats", "sampling", "timed",
		"shots", "shots_from", "cache", "repeats_of_invalid", "cool_down", "in_flight", "retries", "backoff", "timeouts", "rubrics", "needs_from", "conditions", "sweeps", "grid", "image", "shuffles", "slo")
	if s.n.Kind != IsMapping {
		return st
	}
	if s.need("dataset") {
		if w, ok := s.text("dataset"); ok && c.refer(&c.datasets, w) {
			st.Dataset = w.text
		}
	}
	c.studyModels(&st, s)
	c.studyArms(&st, s, known)
	if n := s.get("select"); n != nil {
		st.PerType = c.section(n, JoinPath(s.path, "select"), "per_type").whole("per_type", 0, 1, 1_000_000)
	}
	s.fill(&st)
	if n := s.get("slo"); n != nil && n.Kind == IsMapping && len(n.Entries) == 0 {
		s.wrong("slo", n, "expected ttft, tpot or both, such as {ttft: 2s, tpot: 50ms}, found neither")
	}
	if st.Timed {
		if n := s.get("in_flight"); n != nil && n.Kind == isList && known.Loads {
			st.Levels = s.levels(n)
		} else if n != nil && (n.Kind != isWhole || n.Raw != "1") {
			s.wrong("in_flight", n, "expected 1 or nothing, because timed is true, found %s; a time is only taken with one request in flight", n.Found())
		}
		st.Cache = "cold"
		if s.get("cache") != nil {
			st.Cache = s.choice("cache", "cold", "warm")
		}
		if len(st.Levels) > 0 {
			s.none("in_flight has several levels", "a pause or a repeat would change the load", "repeats_of_invalid", "cool_down")
		} else {
			st.RepeatsOfInvalid = s.whole("repeats_of_invalid", defaultRepeats, 0, 100)
			s.under("cool_down", &st.CoolDown)
		}
	} else {
		if n := s.get("in_flight"); n != nil && n.Kind == isList && known.Loads {
			s.none("timed is not true", "levels of load need timed: true", "in_flight")
		} else {
			st.InFlight = s.whole("in_flight", defaultInFlight, 1, 1024)
		}
		s.none("timed is not true", "it is about times", "cache", "repeats_of_invalid", "cool_down")
	}
	c.shots(&st, s, known)
	c.rubrics(&st, cfg, s, known)
	c.unread(&st, cfg, known)
	c.needs(&st, s, known)
	c.knowing(&st, cfg, known)
	c.conditions(&st, s, known)
	c.sweeps(&st, s, known)
	c.grid(&st, s, known)
	c.image(&st, s, known)
	return st
}

func (c *checker) studyModels(st *Study, s section) {
	list, given := s.words("models")
	if !given {
		st.Models = slices.Clone(c.models.order)
		for _, m := range st.Models {
			c.models.used[m] = true
		}
		return
	}
	wanted := map[string]bool{}
	for _, w := range list {
		if c.refer(&c.models, w) {
			wanted[w.text] = true
		}
	}
	for _, m := range c.models.order { // blocks follow the order of the section
		if wanted[m] {
			st.Models = append(st.Models, m)
		}
	}
}

func (c *checker) studyArms(st *Study, s section, known StudyKind) {
	list, given := s.words("arms")
	if !given {
		st.Arms = slices.Clone(known.Arms)
	}
	for _, w := range list {
		if slices.Contains(known.Arms, w.text) {
			st.Arms = append(st.Arms, w.text)
			continue
		}
		c.Errorf(w.at, w.path, "expected %s, found the unknown arm %s%s", oneOf(known.Arms), shown(w.text), text.DidYouMean(w.text, known.Arms))
	}
}

// rubrics: absent, every rubric is judged by the judge named lexical.
func (c *checker) rubrics(st *Study, cfg *Config, s section, known StudyKind) {
	n := s.get("rubrics")
	if n == nil {
		i := slices.IndexFunc(cfg.Judges, func(j Judge) bool { return j.Name == "lexical" && !j.Unread })
		if i < 0 {
			if !c.unsure {
				c.Errorf(s.n.At, s.path, "expected the key rubrics, because no judge is named lexical, found none; add it, or add {lexical: {kind: lexical}} under judges")
			}
			return
		}
		c.judges.used["lexical"] = true
		for _, r := range known.Rubrics {
			if slices.Contains(known.Measured, r) {
				continue
			}
			st.Rubrics = append(st.Rubrics, Rubric{Name: r, Judges: []string{"lexical"}})
		}
		return
	}
	path := JoinPath(s.path, "rubrics")
	rs := c.section(n, path, known.Rubrics...)
	for _, e := range rs.n.Entries {
		if !slices.Contains(known.Rubrics, e.Key) {
			continue
		}
		r := Rubric{Name: e.Key}
		for _, w := range c.words(e.Value, JoinPath(path, e.Key)) {
			if !c.refer(&c.judges, w) {
				continue
			}
			if slices.ContainsFunc(cfg.Judges, func(j Judge) bool { return j.Name == w.text && j.Unread }) {
				c.Errorf(w.at, w.path, "expected judges that read every answer, found %s, which has reads: unread and is asked about unread answers alone, in every study; remove it here, or name a second judge without that key", shown(w.text))
				continue
			}
			r.Judges = append(r.Judges, w.text)
		}
		st.Rubrics = append(st.Rubrics, r)
	}
}

// unread has the judges asked that read what rules do not.
func (c *checker) unread(st *Study, cfg *Config, known StudyKind) {
	r := Rubric{Name: known.Unread}
	for _, j := range cfg.Judges {
		if j.Unread && known.Unread != "" {
			c.judges.used[j.Name] = true
			r.Judges = append(r.Judges, j.Name)
		}
	}
	if len(r.Judges) > 0 {
		st.Rubrics = append(st.Rubrics, r)
	}
}

// needs checks that each judge has the verdicts that its own rest on.
func (c *checker) needs(st *Study, s section, known StudyKind) {
	asked := func(rubric string) []string {
		for _, r := range st.Rubrics {
			if r.Name == rubric {
				return r.Judges
			}
		}
		return nil
	}
	named := map[string]bool{}
	if n := s.get("needs_from"); n != nil {
		var needed []string
		for _, r := range known.Rubrics {
			if slices.ContainsFunc(known.Rubrics, func(o string) bool { return slices.Contains(known.Needs[o], r) }) {
				needed = append(needed, r)
			}
		}
		if len(needed) == 0 {
			s.wrong("needs_from", n, "expected nothing, because no rubric of study %s rests on the verdict of another, found %s", known.Name, n.Found())
			return
		}
		froms := c.section(n, JoinPath(s.path, "needs_from"), needed...)
		for _, r := range needed {
			named[r] = froms.get(r) != nil
			w, ok := froms.text(r)
			if !ok || !c.refer(&c.judges, w) {
				continue
			}
			if !slices.Contains(asked(r), w.text) {
				c.Errorf(w.at, w.path, "expected a judge that is asked under rubric %s, found %s, which is not; add it under rubrics", r, shown(w.text))
				continue
			}
			if st.NeedsFrom == nil {
				st.NeedsFrom = map[string]string{}
			}
			st.NeedsFrom[r] = w.text
		}
	}
	rubrics := s.get("rubrics")
	if rubrics == nil || rubrics.Kind != IsMapping {
		return // the one judge has all
	}
	for _, e := range rubrics.Entries {
		for _, need := range known.Needs[e.Key] {
			for _, name := range asked(e.Key) {
				if !named[need] && !slices.Contains(asked(need), name) {
					c.Errorf(e.At, JoinPath(JoinPath(s.path, "rubrics"), e.Key), "expected judges that are also asked under rubric %s, because verdicts under %s rest on those, found %s; ask it there, too, or say whose verdict counts: needs_from: {%s: JUDGE}", need, e.Key, shown(name), need)
				}
			}
		}
	}
}

// knowing refuses a rubric that compares with a knowledge base where the data set
// has none, and nobody said to leave it out. Phantoms have their own.
func (c *checker) knowing(st *Study, cfg *Config, known StudyKind) {
	i := slices.IndexFunc(st.Rubrics, func(r Rubric) bool { return slices.Contains(known.Knowing, r.Name) && len(r.Judges) > 0 })
	at := slices.IndexFunc(cfg.Datasets, func(d dataset.Source) bool { return d.Name == st.Dataset })
	if i < 0 || at < 0 {
		return
	}
	st.Knowing = true
	d := cfg.Datasets[at]
	switch _, given := d.Written["knowledge"]; {
	case given || d.SkipGaps || d.Kind == "" || d.Kind == dataset.KindPhantom:
	case d.Has("knowledge"):
		c.Errorf(c.datasets.at[d.Name], JoinPath("datasets", d.Name), "expected the key knowledge, because rubric %s of study %s compares reasoning with a knowledge base, and there is none: name its file under knowledge, or set knowledge_gaps: skip", st.Rubrics[i].Name, st.Name)
	default:
		c.Errorf(c.datasets.at[d.Name], JoinPath("datasets", d.Name), "expected a data set with a knowledge base, because rubric %s of study %s compares reasoning with one, found kind %s, which has none; remove the rubric, or ask another data set", st.Rubrics[i].Name, st.Name, d.Kind)
	}
}

// none refuses keys; do says why once more, or what to do.
func (s section) none(because, do string, keys ...string) {
	for _, key := range keys {
		if n := s.get(key); n != nil {
			s.wrong(key, n, "expected nothing, because %s, found %s; %s", because, n.Found(), do)
		}
	}
}

// levels are those of a load sweep.
func (s section) levels(n *Node) []int {
	out, bad := ascending(n, 1, 1024)
	if bad == nil && len(out) > 0 && out[0] != 1 {
		bad = n.Items[0]
	}
	if bad != nil {
		s.c.Errorf(bad.At, fmt.Sprintf("%s[%d]", JoinPath(s.path, "in_flight"), slices.Index(n.Items, bad)), "expected 1 and then greater numbers up to 1024, as [1, 2, 4, 8], found %s", bad.Found())
		return nil
	}
	if len(out) < 2 {
		s.wrong("in_flight", n, "expected two levels at least, as [1, 2, 4, 8], found %d", len(out))
		return nil
	}
	return out
}

// duration is from 1ms to 24h; with none, the word none is no limit at all.
func (s section) duration(key string, def time.Duration, none bool) time.Duration {
	s.asks(key, Rule{Type: Duration, Least: "1ms", Most: "24h", Default: plain(def), Names: map[bool][]string{true: {"none"}}[none]})
	n := s.get(key)
	if n == nil {
		return def
	}
	want := "a duration from 1ms to 24h, such as 30s or 2m"
	if none {
		want += ", or none"
		if n.Kind == isText && n.Raw == "none" {
			return 0
		}
	}
	d, err := time.ParseDuration(n.Raw)
	if n.Kind == isText && err == nil && d >= time.Millisecond && d <= 24*time.Hour {
		return d
	}
	hint := ""
	if n.Kind == isWhole && decimal(n.Raw) {
		hint = "; did you mean " + cut(n.Raw) + "s?"
	}
	s.wrong(key, n, "expected %s, found %s%s", want, n.Found(), hint)
	return def
}

func (c *checker) studyNames() []string {
	var out []string
	for _, k := range c.known.Studies {
		out = append(out, k.Name)
	}
	return out
}

// prompts reads the files that replace templates.
func (c *checker) prompts(s section, cfg *Config) {
	n := s.get("prompts")
	s.asks("prompts", Rule{Type: Mapping})
	if n == nil || !c.mapping(n, "prompts") {
		return
	}
	var known []string
	for _, k := range c.known.Studies {
		known = append(known, k.Prompts...)
	}
	for _, e := range n.Entries {
		path := JoinPath("prompts", e.Key)
		w, ok := c.text(e.Value, path)
		if !slices.Contains(known, e.Key) {
			if !c.foreign { // it may belong to a study that this version lacks
				c.Errorf(e.At, "prompts", "expected %s, found the unknown prompt %s%s", oneOf(known), shown(e.Key), text.DidYouMean(e.Key, known))
			}
			continue
		}
		if !ok {
			continue
		}
		p := c.exists(w, false)
		if p == "" {
			continue
		}
		text, err := c.files.ReadFile(p)
		switch {
		case err != nil:
			c.Errorf(w.at, path, "expected a file that can be read, found %s at %s", cause(err), shown(p))
		case !utf8.Valid(text):
			c.Errorf(w.at, path, "expected UTF-8 text, found other bytes in %s", shown(p))
		case strings.TrimSpace(string(text)) == "":
			c.Errorf(w.at, path, "expected a prompt, found an empty file at %s", shown(p))
		default:
			cfg.Prompts[e.Key] = string(text)
		}
	}
}
