package results

// Cost is the prices that money is computed from. nil: not known.
type Cost struct {
	Currency string `json:"currency"` // "EUR"
	// GPUHour is the price of one GPU for an hour. Without it, GPUPrice over
	// GPULifeHours is.
	GPUHour      *float64 `json:"gpu_hour,omitempty"`
	GPUPrice     *float64 `json:"gpu_price,omitempty"`      // of buying one GPU
	GPULifeHours *float64 `json:"gpu_life_hours,omitempty"` // of work, > 0
	KWh          *float64 `json:"kwh,omitempty"`            // 0: power is included elsewhere
	// HostedInput and HostedOutput are what a hosted API takes per million tokens
	// of prompt and of answer.
	HostedInput  *float64 `json:"hosted_input,omitempty"`
	HostedOutput *float64 `json:"hosted_output,omitempty"`
}

// PerGPUHour is the price of one GPU for an hour; false: not known.
func (c *Cost) PerGPUHour() (float64, bool) {
	switch {
	case c == nil:
		return 0, false
	case c.GPUHour != nil:
		return *c.GPUHour, true
	case c.GPUPrice != nil && c.GPULifeHours != nil:
		return *c.GPUPrice / *c.GPULifeHours, true
	}
	return 0, false
}
