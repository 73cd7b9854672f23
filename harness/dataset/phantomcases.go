package dataset

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"

	"assay/harness/dataset/phantom"
)

// severalFilms makes cases of several films, of which one decides: each place and
// each letter equally often, within one. No film is drawn for it, as for Phantom.
func severalFilms(from Source) *Dataset {
	d := &Dataset{Name: from.Name, Kind: KindPhantom, Synthetic: true, Items: make([]Item, 0, from.Items)}
	choose := rand.New(rand.NewPCG(from.Seed, 0x6361736573))
	var keys, golds []int
	next := func(left []int, n int) []int {
		if len(left) > 1 {
			return left[1:]
		}
		return choose.Perm(n)
	}
	digest := newDigester()
	for i := range from.Items {
		keys, golds = next(keys, from.Images), next(golds, 5)
		c := phantom.NewCase(from.Seed, i, from.Images, keys[0]+1, golds[0])
		it := Item{ID: fmt.Sprintf("case-%05d", i+1), Question: c.Question.Text, Type: TypeDiagnosis, Answer: c.Question.Answer, Task: c.Question.Task, Modality: "X-ray",
			Case:    &Case{History: c.History, Chapter: "Diseases of the respiratory system"},
			leaking: Leaking{Title: c.Diagnosis, Captions: c.Captions, Findings: c.Findings, Key: c.Key}}
		if strings.Contains(c.Diagnosis, "congestion") {
			it.Case.Chapter = "Diseases of the circulatory system"
		}
		for _, o := range c.Question.Query.Options {
			it.Options = append(it.Options, Option(o))
		}
		for _, s := range c.Discussion {
			it.leaking.Discussion = append(it.leaking.Discussion, section{strings.ToLower(s.Name), s.Text})
		}
		var sums [][sha256.Size]byte
		for n, film := range c.Films {
			it.Images = append(it.Images, phantomImage(fmt.Sprintf("%s-%d.png", it.ID, n+1), film, from.Size))
			sums = append(sums, sha256.Sum256(fmt.Appendf(nil, "phantom %d: seed %d case %d film %d size %d truth %v", phantom.Version, from.Seed, i, n+1, from.Size, film.Truth())))
		}
		digest.add(it, sums)
		d.Items = append(d.Items, it)
	}
	digest.finish(d)
	return d
}
