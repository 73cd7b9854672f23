package phantom

import "cmp"

// reply asks whoever the job is for.
func (s *server) reply(j job) (Reply, error) {
	if by, ok := s.judges[j.reader.Name]; ok {
		text, ok := by.Reply(s.options.Seed, j.ask.Prompt, j.ask.Schema, s.options.Skill.Knows)
		return Reply{Answer: text, Truth: Truth{Understood: ok}}, nil
	}
	return s.options.Skill.Read(j.reader, s.options.Seed, j.ask)
}

// goesOn is how a text goes on for a reader that takes it as it stands.
func (s *server) goesOn(name, text string, seed int64) (string, bool) {
	p, ok := s.reader(cmp.Or(name, s.options.Loaded))
	if !ok {
		return "", false
	}
	r, err := s.options.Skill.Read(p, s.options.Seed, Ask{Prompt: text, Raw: true, Seed: seed})
	return r.Answer, err == nil
}
