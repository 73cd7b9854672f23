package text

// RadCliQ is RadCliQ-v1 of a report beside its reference, lower is better: a linear
// model of four standardised parts (Yu et al. 2023, coefficients as published with the
// tool). All but BLEU2 come from neural tools.
func RadCliQ(radgraph, bertscore, chexbert, bleu2 float64) float64 {
	v := 2.466552561323256e-10
	for _, part := range [4][4]float64{ // value, mean, scale, coefficient
		{radgraph, 0.5379231241355762, 0.3028258411486429, -0.37708368261038905},
		{bertscore, 0.6175725628125001, 0.22430938459304575, -0.37030009974480316},
		{chexbert, 0.7647942121140658, 0.2539439110169773, -0.25261621789593225},
		{bleu2, 0.44738335396242174, 0.2989271671041838, 4.315048405024756e-12},
	} {
		v += part[3] * (part[0] - part[1]) / part[2]
	}
	return v
}
