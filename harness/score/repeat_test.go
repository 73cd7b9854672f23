package score

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestPassHat: the golden values of pass^k, of items and of their mean.
func TestPassHat(t *testing.T) {
	var file struct {
		Cases []struct {
			ID    string
			K     int
			Items []struct{ N, C int }
			Out   struct {
				Per []struct {
					Hat *float64 `json:"pass_hat_k"`
				} `json:"per_item"`
				N    int
				Mean *float64 `json:"pass_hat_k"`
			}
		}
	}
	b, err := os.ReadFile("testdata/passk.json")
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil || len(file.Cases) < 10 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
	for _, c := range file.Cases {
		sum, n := 0., 0
		for i, it := range c.Items {
			got, ok := passHat(it.N, it.C, c.K)
			if want := c.Out.Per[i].Hat; ok != (want != nil) || ok && !near(got, *want) {
				t.Errorf("%s, item %d: %v %t", c.ID, i, got, ok)
			}
			if ok {
				sum, n = sum+got, n+1
			}
		}
		if n != c.Out.N || n > 0 && !near(sum/float64(n), *c.Out.Mean) {
			t.Errorf("%s: mean %v of %d, want %d", c.ID, sum/float64(n), n, c.Out.N)
		}
	}
}
