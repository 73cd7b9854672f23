package results

// Cost is the prices that money is computed from. nil: not known.
type Cost struct {
	Currency string `json:"currency" yaml:"currency,needed"` // "EUR"
	// GPUHour is the price of one GPU for an hour. Without it, GPUPrice over
	// GPULifeHours is.
	GPUHour      *float64 `json:"gpu_hour,omitempty" yaml:"gpu_hour" range:"0..1e9"`
	GPUPrice     *float64 `json:"gpu_price,omitempty" yaml:"gpu_price" range:"0..1e9"`           // of buying one GPU
	GPULifeHours *float64 `json:"gpu_life_hours,omitempty" yaml:"gpu_life_hours" range:"1..1e9"` // of work, > 0
	KWh          *float64 `json:"kwh,omitempty" yaml:"kwh" range:"0..1e9"`                       // 0: power is included elsewhere
	PUE          *float64 `json:"pue,omitempty" yaml:"pue" range:"1..1e9"`                       // of the building for each kWh of devices; nil: nothing is added
	GCO2PerKWh   *float64 `json:"gco2_per_kwh,omitempty" yaml:"gco2_per_kwh" range:"0..1e9"`     // of electricity; nil: emissions are not told
	// HostedInput and HostedOutput are what a hosted API takes per million tokens
	// of prompt and of answer.
	HostedInput  *float64 `json:"hosted_input,omitempty"`
	HostedOutput *float64 `json:"hosted_output,omitempty"`
}

// Building is what a kWh of devices takes in the building: PUE, or 1.
func (c *Cost) Building() float64 {
	if c == nil || c.PUE == nil {
		return 1
	}
	return *c.PUE
}

// Grams is the CO2 of joules that devices take, with what the building adds; false: emissions
// are not told.
func (c *Cost) Grams(joules float64) (float64, bool) {
	if c == nil || c.GCO2PerKWh == nil {
		return 0, false
	}
	return joules / 3.6e6 * c.Building() * *c.GCO2PerKWh, true
}

// PerKWh is the price of a kWh that devices take, with what the building adds. KWh has
// to be known.
func (c *Cost) PerKWh() float64 { return *c.KWh * c.Building() }

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
