package run

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
)

func TestBarsDrawWhatARunDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		bars, stop := ShowProgress(t.Context(), &out, 60, true)
		s, m := &server{takes: func(call) time.Duration { return time.Second }}, newMemory()
		s.reply = func(c call) (*backends.Response, error) {
			if c.n == 2 {
				return nil, fail(backends.ErrRefused, "not this one")
			}
			return nil, nil
		}
		j := job(s, m, planned("s", "honest", items(4), direct()), planned("s", "blind", items(9), direct()))
		dead := dies(3, 0)
		dead.takes = s.takes
		j.Endpoints["blind"] = Endpoint{Backend: dead, Model: "blind"}
		j.Progress = bars
		must(t, j)
		stop()
		for _, want := range []string{"honest  4/4", "1 failed", "blind", "3/9", "1 failed, 60/min, about 10 s left", "3/9 [===>---------] 0 failed, 60/min, about 6 s left", "s/honest/i01/direct/baseline failed: POST http://server: refused: not this one", "no server for 5 trials in a row"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not on the screen:\n%s", want, out.String())
			}
		}
	})
}

func TestEventsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &seen{}
		s := dies(7, 0)
		j := job(s, newMemory(), planned("s", "a", items(20), direct()), planned("s", "b", items(2), direct()))
		j.Endpoints["b"] = Endpoint{Backend: &server{}, Model: "b"}
		j.Progress = w
		sum := must(t, j)
		ended := w.of(blockEnded)
		if n := len(w.of(trialDone)); n != sum.Done || len(w.of(trialFailed)) != sum.Failed || len(ended) != 2 || ended[0].Trials != 13 || ended[1].Trials != 0 {
			t.Errorf("%d done, ended %v; %+v", n, ended, sum)
		}
		order := ""
		for _, e := range w.events {
			order += fmt.Sprintf("%s ", strings.Split(string(e.Kind), "_")[0])
		}
		if !strings.HasPrefix(order, "run block trial ") || !strings.HasSuffix(order, "warning block block trial trial block ") {
			t.Errorf("events %s", order)
		}
	})
}
