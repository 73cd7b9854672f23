package plan

// Parts is how many trials a model has in each of n shards of a plan that no filter
// narrowed, in the order of the shards. seed is that of the request.
func (p *Plan) Parts(seed uint64, model string, n int) []int {
	type place struct{ study, item string }
	part := map[place]int{}
	for _, sel := range p.Studies {
		order := (&draft{name: sel.Study}).order(seed, 0, sel.Items)
		for i := range n {
			from, to := Shard{Part: i + 1, Of: n}.of(len(order))
			for _, it := range order[from:to] {
				part[place{sel.Study, it.ID}] = i
			}
		}
	}
	out := make([]int, n)
	for _, b := range p.Blocks {
		if b.Model != model {
			continue
		}
		for _, t := range b.Trials {
			out[part[place{t.Key.Study, t.Key.Item}]]++
		}
	}
	return out
}
