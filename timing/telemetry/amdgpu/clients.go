package amdgpu

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/timing/telemetry"
)

// scanEvery is how long one look at all processes counts: it opens the folders of
// each of them.
const scanEvery = 2 * time.Second

// clients is who has the GPUs open, from /proc/PID/fdinfo (drm-usage-stats in the
// kernel's documentation). All cards share one.
type clients struct {
	proc fs.FS

	mu     sync.Mutex
	looked time.Time
	found  map[string][]telemetry.Process // by PCI address
	err    error
}

// on is who has a card open.
func (c *clients) on(pci string) ([]telemetry.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.looked.IsZero() || now.Sub(c.looked) >= scanEvery {
		c.looked = now
		c.found, c.err = scan(c.proc)
	}
	return slices.Clone(c.found[pci]), c.err
}

var errUnseen = errors.New("the open files of some processes cannot be seen by this user")

// scan looks at every process. Processes of other users cannot be seen without
// root: only if there are none at all is that an error, because the model's own
// server may be among those seen.
func scan(proc fs.FS) (map[string][]telemetry.Process, error) {
	dirs, err := fs.ReadDir(proc, ".")
	if err != nil {
		return nil, fmt.Errorf("amdgpu: listing processes: %w", err)
	}
	found := map[string][]telemetry.Process{}
	hidden, seen := 0, 0
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		fds, err := fs.ReadDir(proc, d.Name()+"/fd")
		if err != nil {
			hidden++
			continue
		}
		seen++
		for pci, x := range opened(proc, d.Name(), fds) {
			x.PID = pid
			found[pci] = append(found[pci], x)
		}
	}
	if seen == 0 && hidden > 0 {
		return nil, fmt.Errorf("amdgpu: listing processes: %w; run as root", errUnseen)
	}
	for _, list := range found {
		slices.SortFunc(list, func(a, b telemetry.Process) int { return a.PID - b.PID })
	}
	return found, nil
}

// opened is what one process has open, by PCI address.
func opened(proc fs.FS, pid string, fds []fs.DirEntry) map[string]telemetry.Process {
	type client struct {
		memory uint64
		known  bool
	}
	cards := map[string]map[string]client{} // by PCI address and client
	primary := map[string]bool{}            // opened for drawing
	for _, fd := range fds {
		to, err := fs.ReadLink(proc, pid+"/fd/"+fd.Name())
		if err != nil || !strings.HasPrefix(to, "/dev/dri/") {
			continue
		}
		info, err := fs.ReadFile(proc, pid+"/fdinfo/"+fd.Name())
		if err != nil {
			continue
		}
		pci, id, c := parseClient(string(info))
		if pci == "" {
			continue
		}
		if cards[pci] == nil {
			cards[pci] = map[string]client{}
		}
		// Files of one client tell the same once more.
		if old, ok := cards[pci][id]; !ok || c.bytes > old.memory {
			cards[pci][id] = client{c.bytes, c.known}
		}
		primary[pci] = primary[pci] || strings.HasPrefix(to, "/dev/dri/card")
	}
	out := map[string]telemetry.Process{}
	for pci, by := range cards {
		x := telemetry.Process{Draws: primary[pci]}
		total, known := uint64(0), true
		for _, c := range by {
			total, known = total+c.memory, known && c.known
		}
		if known {
			x.Memory = &total
		}
		out[pci] = x
	}
	return out
}

type held struct {
	bytes uint64
	known bool
}

// parseClient reads an fdinfo file; pci is "" where it is not of an amdgpu client.
func parseClient(info string) (pci, id string, m held) {
	driver := ""
	for line := range strings.Lines(info) {
		key, v, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		v = strings.TrimSpace(v)
		switch key {
		case "drm-driver":
			driver = v
		case "drm-pdev":
			pci = v
		case "drm-client-id":
			id = v
		case "drm-memory-vram", "drm-resident-vram": // its name before Linux 6.10, and since
			if b, ok := bytesOf(v); ok {
				m = held{b, true}
			}
		}
	}
	if driver != "amdgpu" || pci == "" {
		return "", "", held{} // memory of no card is nobody's
	}
	return pci, id, m
}

// bytesOf reads "123 KiB".
func bytesOf(v string) (uint64, bool) {
	n, unit, _ := strings.Cut(v, " ")
	b, err := strconv.ParseUint(n, 10, 64)
	shift, ok := map[string]uint{"": 0, "KiB": 10, "MiB": 20}[strings.TrimSpace(unit)]
	if err != nil || !ok || b > 1<<63>>shift {
		return 0, false
	}
	return b << shift, true
}

// Processes implements telemetry.Lister.
func (p *probe) Processes() ([]telemetry.Process, error) { return p.clients.on(p.device.ID) }
