package config

// Rules reads a bench.yaml as Parse does, and says what was asked of each key that the
// file could have: those of a mapping are known once the file has it.
func Rules(file string, text []byte, known Known, files files) ([]Rule, Errors) {
	var seen record
	if _, errs := parse(file, text, known, files, &seen); len(errs) > 0 {
		return nil, errs
	}
	return seen.Merged(map[string]string{"judges": "model"}), nil
}

func (s section) asks(key string, r Rule) { s.c.seen.Ask(JoinPath(s.path, key), r) }
