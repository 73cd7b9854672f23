// Value says of single values of a bench.yaml how they may be written, and writes
// them as people do.

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// decimal keeps 010, 0x10 and 1_000 out: readers of YAML disagree about them.
func decimal(raw string) bool {
	digits := strings.TrimPrefix(raw, "-")
	return digits == "0" || digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

// ascending is a whole number, or a list of them that grow, from least to most. bad is the
// first node that is not so.
func ascending(n *Node, least, most int) (out []int, bad *Node) {
	items := n.Items
	if n.Kind != isList {
		items = []*Node{n}
	}
	for _, it := range items {
		v, err := strconv.Atoi(it.Raw)
		if it.Kind != isWhole || err != nil || !decimal(it.Raw) || v < least || v > most || len(out) > 0 && v <= out[len(out)-1] {
			return nil, it
		}
		out = append(out, v)
	}
	return out, nil
}

// name keeps commas and spaces out of names: they are listed on command lines.
func name(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._:@+/-", r)) {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// readAddress is a server's, without a slash at its end; found says what it is instead where
// it is none. local: it is one of this machine.
func readAddress(text string) (address string, local bool, found string) {
	if strings.ContainsAny(text, "@?#") {
		// Not shown: it may hold a secret.
		return "", false, "a user name, a query or a fragment in it; name an API key under api_key_env or api_key_file"
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme == "" || u.Opaque != "":
		hint := ""
		if !strings.Contains(text, "://") && !strings.HasPrefix(text, "http") {
			hint = "; did you mean http://" + cut(text) + "?"
		}
		return "", false, shown(text) + hint
	case u.Scheme == "unix" && u.Host == "" && strings.Trim(u.Path, "/") != "":
		return text, true, ""
	case u.Scheme == "unix":
		return "", false, fmt.Sprintf("no path to a socket in %s; write unix:///run/server.sock", shown(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", false, fmt.Sprintf("the scheme %s; use http, https or unix", shown(u.Scheme))
	case u.Hostname() == "":
		return "", false, "no host in " + shown(text)
	case !port(u.Port()):
		return "", false, fmt.Sprintf("the port %s; use 1 to 65535", shown(u.Port()))
	}
	ip := net.ParseIP(u.Hostname())
	return strings.TrimRight(text, "/"), strings.EqualFold(u.Hostname(), "localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()), ""
}

// cause is an error without the path that is already in the message.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// port says whether a port is one, or none is given.
func port(p string) bool {
	var n int
	if p == "" {
		return true
	}
	_, err := fmt.Sscanf(p, "%d", &n)
	return err == nil && n >= 1 && n <= 65535
}

// holdsSecret says whether an argument sets a key: --api-key, VLLM_API_KEY=...
func holdsSecret(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	flag := strings.HasPrefix(name, "-")
	name = strings.ToLower(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
	if !flag && !strings.Contains(arg, "=") {
		return false
	}
	for _, end := range []string{"api_key", "token", "password", "secret"} {
		if name == end || strings.HasSuffix(name, "_"+end) {
			return true
		}
	}
	return false
}

// short writes a number as people do: 1e9, not 1e+09.
func short(v float64) string {
	return strings.NewReplacer("e+0", "e", "e+", "e").Replace(fmt.Sprint(v))
}

// plain writes a duration without what is zero in it; "": there is none.
func plain(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
