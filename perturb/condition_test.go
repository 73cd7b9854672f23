package perturb

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Stores hold conditions in these words, those of older versions too: a word that
// changes here is a condition that scores no longer know there.
func TestConditionsAreStoredInTheseWords(t *testing.T) {
	usual := 4.
	for _, c := range []struct {
		c    Condition
		want string
	}{
		{Baseline(), `{"name":"baseline","family":"","kind":"baseline"}`},
		{Condition{Name: "VB-BB-@thickness_px=8", Family: "VB-BB", Kind: KindImage, Sign: -1, Suggests: true, Param: "thickness_px", Level: 8, Usual: &usual},
			`{"name":"VB-BB-@thickness_px=8","family":"VB-BB","kind":"image","sign":-1,"suggests":true,"param":"thickness_px","level":8,"usual":4}`},
		{Condition{Name: "VO-GRID@3x2:r1c2", Family: "VO-GRID", Kind: KindGrid, Cell: &Cell{Columns: 3, Rows: 2, Row: 1, Column: 2}},
			`{"name":"VO-GRID@3x2:r1c2","family":"VO-GRID","kind":"grid","cell":{"columns":3,"rows":2,"row":1,"column":2}}`},
	} {
		made := c.c
		made.Ops, made.Image, made.Target, made.Cue = []Op{{Name: "window"}}, 2, "left", "It is left."
		b, err := json.Marshal(made)
		if err != nil || string(b) != c.want {
			t.Errorf("%s is stored as %s (%v), want %s", c.c.Name, b, err, c.want)
		}
		var back Condition
		if err := json.Unmarshal([]byte(c.want), &back); err != nil || !reflect.DeepEqual(back, c.c) {
			t.Errorf("%s is read as %+v, %v", c.want, back, err)
		}
	}
}
