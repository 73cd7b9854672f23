//go:build unix

package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/dataset"
	"assay/perturb"
)

// TestMain runs the tests, or is a program of the user's: "as-op MODE FLAGS".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as-op" {
		os.Exit(asOp(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// asOp is a program that paints each region in the grey of --strength, and the first pixels as its
// mode says.
func asOp(mode string, flags []string) int {
	src, err := png.Decode(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	out := image.NewGray(src.Bounds())
	grey := 0.0
	for i := 0; i+1 < len(flags); i += 2 {
		var at image.Rectangle
		switch flags[i] {
		case "--strength":
			grey, _ = strconv.ParseFloat(flags[i+1], 64)
		case "--seed":
			n, _ := strconv.ParseUint(flags[i+1], 10, 31)
			out.Pix[0] = uint8(n % 251)
		case "--region":
			fmt.Sscanf(flags[i+1], "%d,%d,%d,%d", &at.Min.X, &at.Min.Y, &at.Max.X, &at.Max.Y)
		}
		for y := at.Min.Y; y < at.Max.Y; y++ {
			for x := at.Min.X; x < at.Max.X; x++ {
				out.SetGray(x, y, color.Gray{Y: uint8(grey * 255)})
			}
		}
	}
	switch mode {
	case "flaky":
		pid := os.Getpid()
		out.Pix[1], out.Pix[2] = uint8(pid), uint8(pid>>8)
	case "count":
		f, err := os.OpenFile("calls", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return 2
		}
		fmt.Fprintln(f, slices.Sorted(slices.Values(os.Environ())))
		f.Close()
	case "words":
		fmt.Println("done")
		return 0
	case "fail":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 4*keptErrors), "no such organ\n")
		return 3
	}
	if err := png.Encode(os.Stdout, out); err != nil {
		return 2
	}
	return 0
}

func programOf(t *testing.T, mode string) perturb.Condition {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return perturb.Own("mine", &perturb.Program{Path: self, Command: []string{"mine", "as-op", mode}, Dir: t.TempDir(), Limit: time.Minute,
		Params: []perturb.Param{{Name: "strength", Max: 1, Default: .5}}, Digest: mode})
}

func greyFile(t *testing.T) []byte {
	t.Helper()
	file, err := perturb.EncodePNG(image.NewGray(image.Rect(0, 0, 40, 20)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A program is given the picture as it would be sent, its parameters, a seed and the regions in
// pixels, and little of our environment; it is called twice for the first picture of a level, once
// for others, and not for one that is known.
func TestAProgramChangesPictures(t *testing.T) {
	t.Setenv("ASSAY_TEST_API_KEY", "secret")
	c := programOf(t, "count")
	dir, r := c.Ops[0].Program.Dir, New()
	at := func(level float64, x0 int) perturb.Condition {
		c := c
		c.Ops = slices.Clone(c.Ops)
		c.Ops[0].Params = map[string]float64{"strength": level}
		c.Ops[0].Regions = []perturb.Region{{X0: x0, Y0: 50, X1: 100, Y1: 100}}
		return c
	}
	calls := func() int {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "secret") {
			t.Errorf("it was given %s", b)
		}
		return bytes.Count(b, []byte("\n"))
	}
	changed := at(.2, 50) // another program of the same name
	script := *changed.Ops[0].Program
	script.Digest = "other"
	changed.Ops[0].Program = &script
	const seed = 5 << 33
	for i, step := range []struct {
		c     perturb.Condition
		calls int
		grey  uint8
	}{{c, 2, 0}, {at(1, 50), 4, 255}, {at(1, 50), 4, 255}, {at(1, 25), 5, 255}, {at(.2, 50), 7, 51}, {changed, 9, 51}} {
		pic, size, err := r.Picture(t.Context(), greyFile(t), step.c, perturb.Picture{MaxSide: 20}, seed)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(pic.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		got := img.(*image.Gray)
		if n := calls(); n != step.calls || size != image.Pt(20, 10) || pic.MIME != "image/png" || got.Pix[0] != 5 || got.GrayAt(15, 7).Y != step.grey {
			t.Errorf("step %d: %d calls, %v, seed %d, grey %d", i, n, size, got.Pix[0], got.GrayAt(15, 7).Y)
		}
	}
}

// What a program does wrong is said with its name, the item's, and what it wrote of it.
func TestAProgramThatFails(t *testing.T) {
	it := &dataset.Item{ID: "i7", Images: []dataset.Image{{Name: "a.png", Load: func() ([]byte, error) { return greyFile(t), nil }}}}
	for mode, want := range map[string]string{
		"flaky": "item i7, image 1 (a.png): op mine: its output differs from call to call",
		"words": "expected a PNG on its standard output: the file starts with 64 6f",
		"fail":  "item i7, image 1 (a.png): op mine (mine as-op fail): exit status 3; it wrote to standard error: xxx",
	} {
		r, c := New(), programOf(t, mode)
		for range 2 { // it is no better when it is asked again
			_, _, err := r.Item(t.Context(), it, c, Frame{}, 1)
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > keptErrors+200 || mode == "fail" && !strings.HasSuffix(err.Error(), "no such organ") {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
}

// A program ends at its limit or with the run, and all that it started ends with it.
func TestAProgramThatDoesNotEnd(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	// What is started holds the pipe open, until it ends.
	sleeps := func(t *testing.T, limit time.Duration) (c perturb.Condition, ended func()) {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, "held"), 0o600); err != nil {
			t.Fatal(err)
		}
		held, err := os.OpenFile(filepath.Join(dir, "held"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		return perturb.Own("mine", &perturb.Program{Path: sh, Command: []string{"sh", "-c", "sleep 30 >held & wait"}, Dir: dir, Limit: limit}), func() {
			defer held.Close()
			if _, err := held.Read(make([]byte, 1)); err != io.EOF || time.Since(began) > 20*time.Second {
				t.Errorf("what it started went on for %v (%v)", time.Since(began), err)
			}
		}
	}
	t.Run("limit", func(t *testing.T) {
		c, ended := sleeps(t, 100*time.Millisecond)
		began := time.Now()
		_, _, err := New().Picture(t.Context(), greyFile(t), c, perturb.Picture{}, 1)
		if err == nil || !strings.Contains(err.Error(), "it had not ended after 100ms") || time.Since(began) > 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ended()
	})
	t.Run("interrupt", func(t *testing.T) {
		c, ended := sleeps(t, time.Minute)
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		began := time.Now()
		_, _, err := New().Picture(ctx, greyFile(t), c, perturb.Picture{}, 1)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ended()
	})
	t.Run("output", func(t *testing.T) {
		out := limited{most: 10}
		if _, err := out.Write(make([]byte, 10)); err != nil || out.over {
			t.Error(err)
		}
		if _, err := out.Write([]byte{1}); err == nil || !out.over || out.Len() != 10 {
			t.Error("there is no end to what is read")
		}
	})
}
