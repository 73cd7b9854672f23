package plug

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/timing/telemetry"
)

func TestPlugsThatPeopleHave(t *testing.T) {
	text := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text == "" {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, text)
	}))
	defer s.Close()
	for _, c := range []struct {
		name, text, field string
		mw                int64
		problem           string
	}{
		{"Shelly Gen2", `{"id":0,"source":"init","output":true,"apower":412.3,"voltage":231.1,"aenergy":{"total":1234.5}}`, "", 412_300, ""},
		{"Tasmota", `{"StatusSNS":{"Time":"2026-11-23T19:00:00","ENERGY":{"Total":3.1,"Power":88,"Voltage":230}}}`, "", 88_000, ""},
		{"another", `{"meters":[{"p":1},{"p":"97.5"}]}`, "meters.1.p", 97_500, ""},
		{"no such path", `{"apower":3}`, "power", 0, "power is not there"},
		{"no such place", `{"meters":[1]}`, "meters.4", 0, "the list has 1 places"},
		{"no number", `{"apower":true}`, "apower", 0, "apower is no number"},
		{"nothing known", `{"watts":3}`, "", 0, "is not there"},
		{"below 0", `{"apower":-3}`, "", 0, "a power is 0 to"},
		{"no JSON", `<html>`, "", 0, "no JSON"},
		{"gone", "", "", 0, "503"},
	} {
		text = c.text
		probes, problems := Find([]telemetry.Plug{{URL: s.URL + "/rpc?password=s3cret", Field: c.field}})
		if c.problem != "" {
			if len(probes) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), c.problem) || problems[0].Do == "" || strings.Contains(problems[0].String(), "s3cret") {
				t.Errorf("%s: %d probes, %v", c.name, len(probes), problems)
			}
			continue
		}
		if len(probes) != 1 || len(problems) != 0 {
			t.Errorf("%s: %d probes, %v", c.name, len(probes), problems)
			continue
		}
		d := probes[0].Describe()
		if d.Kind != telemetry.Meter || strings.Contains(fmt.Sprint(d), "s3cret") {
			t.Errorf("%s: %+v", c.name, d)
		}
		var a, b telemetry.Sample
		if err := probes[0].Read(&a); err != nil {
			t.Error(err)
		}
		if v, ok := a.Get(telemetry.PowerInstant); !ok || v != c.mw {
			t.Errorf("%s: %d mW, want %d", c.name, v, c.mw)
		}
		if err := probes[0].Read(&b); err != nil || b.Len() != 0 {
			t.Errorf("%s: asked again within a second: %d, %v", c.name, b.Len(), err)
		}
		probes[0].(*probe).last = time.Now().Add(-time.Second)
		text = `{}`
		if err := probes[0].Read(&b); err == nil || b.Len() != 0 {
			t.Errorf("%s: a reply without the figure is %d values", c.name, b.Len())
		}
	}
}
