package experiment

import (
	"context"
	"fmt"
	"io"
	"os"

	"assay/backends"
	"assay/backends/hosted"
	"assay/harness/config"
	"assay/results/store"
)

// ConnectHosted makes the backend of a hosted judge; spent is what was paid before.
func ConnectHosted(j config.Judge, spent float64) (*hosted.Backend, error) {
	key, err := backends.APIKey("judge "+j.Name, j.Hosted.KeyEnv, j.Hosted.KeyFile, os.Getenv)
	if err != nil {
		return nil, err
	}
	return hosted.New(j.Hosted.Settings, key, spent)
}

// hostedJudge is the backend of a hosted judge, once for all: it knows what was paid.
func (b *Bench) hostedJudge(ctx context.Context, st *store.Store, j config.Judge) (*hosted.Backend, error) {
	if be := b.hosted[j.Name]; be != nil {
		return be, nil
	}
	spent := 0.0
	if p := j.Hosted.Price; p != nil {
		costs, err := st.Costs(ctx, j.Name)
		if err != nil {
			return nil, err
		}
		for currency := range costs {
			if currency != p.Currency && j.Hosted.Budget > 0 {
				return nil, fmt.Errorf("%s: judges.%s: expected a budget in %s, in which its judgments were paid until now, found %s; give price and budget in %s",
					b.Config.File, j.Name, currency, p.Currency, currency)
			}
		}
		spent = costs[p.Currency]
	}
	be, err := ConnectHosted(j, spent)
	if err == nil {
		b.hosted[j.Name] = be
	}
	return be, err
}

// tellMoney says what hosted judges have cost until now.
func (b *Bench) tellMoney(notes io.Writer) {
	for _, j := range b.Config.Judges {
		be := b.hosted[j.Name]
		if be == nil || j.Hosted.Price == nil {
			continue
		}
		of := ""
		if j.Hosted.Budget > 0 {
			of = fmt.Sprintf(", of a budget of %.2f", j.Hosted.Budget)
		}
		fmt.Fprintf(notes, "judge %s: %.4f %s paid until now%s\n", j.Name, be.Spent(), j.Hosted.Price.Currency, of)
	}
}
