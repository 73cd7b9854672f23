package backends

// Choices are the tokens that could have stood in a place of an answer, as OpenAI's API and
// Ollama's write them.
type Choices struct {
	Top []struct {
		Token   string  `json:"token"`
		LogProb float64 `json:"logprob"`
	} `json:"top_logprobs"`
}

// FirstOf are those of the first place; nil: there are none.
func FirstOf(all []Choices) map[string]float64 {
	if len(all) == 0 || len(all[0].Top) == 0 {
		return nil
	}
	out := map[string]float64{}
	for _, t := range all[0].Top {
		if _, twice := out[t.Token]; !twice { // bytes that are no text all look alike: the likeliest counts
			out[t.Token] = t.LogProb
		}
	}
	return out
}
