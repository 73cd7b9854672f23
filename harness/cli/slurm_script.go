// Slurm_script writes the script that runs an experiment in parts on a Slurm cluster:
// an array job with one shard per task, and one after it that joins the parts, judges
// what is open and reports.

package cli

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// slurmJob is an experiment to be run in parts.
type slurmJob struct {
	Name    string
	Program string // path of assay on the nodes
	Dir     string // where the tasks run: paths of bench.yaml are relative to it
	Config  string
	Store   string   // of the whole
	Stores  []string // of the parts, in their order
	Options []string // for sbatch, as --gres=gpu:1; of the parts and of the job after them
	// Notice is how many seconds before its time limit a task is told to stop.
	Notice int
}

// Parts is how many there are.
func (j slurmJob) Parts() int { return len(j.Stores) }

//go:embed script.tmpl
var script string

// Script writes the script. An option that is not one of sbatch's or would end its
// line is an error.
func (j slurmJob) Script(w io.Writer) error {
	for _, o := range append([]string{"--" + j.Name}, j.Options...) {
		if !strings.HasPrefix(o, "-") || strings.ContainsAny(o, "\n\r\x00") {
			return fmt.Errorf("expected an option of sbatch such as --partition=gpu, found %q", o)
		}
	}
	t, err := template.New("script").Funcs(template.FuncMap{"quote": quote}).Parse(script)
	if err != nil {
		return err
	}
	return t.Execute(w, j)
}

// quote writes a word for a POSIX shell.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
