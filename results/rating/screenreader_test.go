//go:build browser

package rating

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	chromium "assay/results/browser"
)

// node is what a screen reader is told of a part of a page.
type node struct {
	id, role, name, says string // says: description
	value                string
	state                map[string]string // focusable, focused, checked, live, ...
	text                 string            // of all that is in it
}

// told is the tree that a screen reader is given, in the order of the page.
func told(b *chromium.Tab) []node {
	got := b.Told()
	word := func(v *accessibility.Value) string {
		var s any
		if v == nil || json.Unmarshal(v.Value, &s) != nil {
			return ""
		}
		return fmt.Sprint(s)
	}
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range got {
		byID[n.NodeID] = n
	}
	var text func(n *accessibility.Node) string
	text = func(n *accessibility.Node) string {
		if word(n.Role) == "StaticText" {
			return word(n.Name)
		}
		var all string
		for _, id := range n.ChildIDs {
			if c := byID[id]; c != nil {
				all += text(c)
			}
		}
		return all
	}
	var out []node
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		if !n.Ignored {
			x := node{id: string(n.NodeID), role: word(n.Role), name: word(n.Name), says: word(n.Description), value: word(n.Value), state: map[string]string{}, text: text(n)}
			for _, p := range n.Properties {
				x.state[string(p.Name)] = word(p.Value)
			}
			out = append(out, x)
		}
		for _, id := range n.ChildIDs {
			if c := byID[id]; c != nil {
				walk(c)
			}
		}
	}
	for _, n := range got {
		if n.ParentID == "" {
			walk(n)
		}
	}
	return out
}

// find is the one part of a role whose name begins so.
func find(t *testing.T, nodes []node, role, name string) node {
	t.Helper()
	var found []node
	for _, n := range nodes {
		if n.role == role && strings.HasPrefix(n.name, name) {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		var all []string
		for _, n := range nodes {
			all = append(all, fmt.Sprintf("%s %q %q %v", n.role, n.name, n.says, n.state))
		}
		t.Fatalf("%d parts are a %s %q in\n%s", len(found), role, name, strings.Join(all, "\n"))
	}
	return found[0]
}

// TestScreenReaderInABrowser: a rater who sees nothing signs in, reads the instructions, rates two cases
// and is told what became of it, by what the browser tells a screen reader and by keys alone. No
// script but the page's own sets a focus.
func TestScreenReaderInABrowser(t *testing.T) {
	study := made(4)
	for i := range study.Cases {
		study.Cases[i].Pictures = []string{"Picture 1 of 1 as it was sent"}
	}
	b := begin(t, study, "anna")
	w := chromium.Start(t).Another("anna", meant...)
	w.Look(desk)
	signIn(w, b.server.URL+"/", b.codes["anna"])

	// Whatever can have the focus says what it is and what it is called.
	named := func() []node {
		t.Helper()
		nodes := told(w)
		controls := 0
		for _, n := range nodes {
			if n.state["focusable"] != "true" || n.role == "RootWebArea" {
				continue
			}
			controls++
			if n.name == "" || !slices.Contains([]string{"link", "button", "radio", "checkbox", "textbox", "combobox", "slider", "option", "heading", "image", "DisclosureTriangle"}, n.role) {
				t.Errorf("what can have the focus is a %s %q", n.role, n.name)
			}
		}
		if controls < 2 || nodes[0].role != "RootWebArea" || nodes[0].name == "" {
			t.Errorf("%d controls on %q", controls, nodes[0].name)
		}
		return nodes
	}
	focused := func() node {
		t.Helper()
		for _, n := range told(w) {
			if n.state["focused"] == "true" && n.role != "RootWebArea" {
				return n
			}
		}
		return node{}
	}
	press := func(keys string) { t.Helper(); w.Do(chromedp.KeyEvent(keys)) }
	tab := func(role, name string) {
		t.Helper()
		for range 60 {
			press("\t")
			if n := focused(); n.role == role && strings.HasPrefix(n.name, name) {
				return
			}
		}
		t.Fatalf("Tab does not lead to the %s %q", role, name)
	}
	at := func(position int) {
		t.Helper()
		w.Until(fmt.Sprintf("document.readyState === 'complete' && document.getElementById('main').dataset.position === '%d' && (document.querySelector('.picture') ? document.querySelector('.picture').dataset.state === 'shown' : true)", position))
	}
	status := func(want string) {
		t.Helper()
		w.Until(fmt.Sprintf("document.getElementById('saved').textContent.startsWith(%q)", want))
		nodes := told(w)
		nodes = nodes[slices.IndexFunc(nodes, func(n node) bool { return n.role == "form" && n.name == "Your rating" }):] // a picture has one, too
		n := find(t, nodes, "status", "")
		if !strings.HasPrefix(n.text, want) || n.state["live"] != "polite" {
			t.Errorf("the status says %q (live: %s), want %q", n.text, n.state["live"], want)
		}
	}

	nodes := named()
	find(t, nodes, "main", "")
	tab("link", chromium.Eval[string](w, "[...document.querySelectorAll('main a')].at(-1).textContent.trim()"))
	press("\r")
	at(1)
	if n := focused(); n.role != "heading" || !strings.HasPrefix(n.name, "Case 1") {
		t.Errorf("a new case begins at the %s %q", n.role, n.name)
	}
	// The one to learn by, by arrows and the space bar.
	tab("radio", "1")
	press(" ")
	status("All saved.")
	press(kb.ArrowDown)
	w.Until("document.querySelector('fieldset[data-field=CF] input[value=\"2\"]').checked")
	status("All saved.")
	tab("button", "Submit and lock")
	press("\r")
	at(2)

	nodes = named()
	bar := find(t, nodes, "progressbar", "cases done")
	if bar.value != "1" {
		t.Errorf("progress is %+v", bar)
	}
	for _, field := range []string{"CF", "CA"} {
		g := find(t, nodes, "group", field)
		if g.says != "How far?" {
			t.Errorf("%s is described as %q", field, g.says)
		}
	}
	radios := 0
	for _, n := range nodes {
		if n.role == "radio" {
			radios++
			if n.state["checked"] != "false" {
				t.Errorf("%q is %v before anything is chosen", n.name, n.state)
			}
		}
	}
	if radios < 10 {
		t.Errorf("%d grades", radios)
	}
	// Nothing is answered: an alert says so, and the focus is on what is open.
	tab("button", "Submit and lock")
	press("\r")
	w.Until("!document.getElementById('wrong').hidden")
	if n := find(t, told(w), "alert", ""); !strings.HasPrefix(n.text, "2 questions are not answered yet") || n.state["live"] != "assertive" {
		t.Errorf("the alert says %q (live: %s)", n.text, n.state["live"])
	}
	if n := focused(); n.role != "radio" {
		t.Errorf("then the focus is on the %s %q", n.role, n.name)
	}
	press("4")
	status("All saved.")
	if n := find(t, told(w), "group", "CF"); !strings.Contains(n.text, "grade 4") {
		t.Errorf("%+v", n)
	}
	chosen := 0
	for _, n := range told(w) {
		if n.role == "radio" && n.state["checked"] == "true" {
			chosen++
			if !strings.Contains(n.name, "grade 4") {
				t.Errorf("chosen is %q", n.name)
			}
		}
	}
	if chosen != 1 {
		t.Errorf("%d grades are said to be chosen", chosen)
	}
	if n := focused(); n.role != "radio" {
		t.Errorf("after a grade the focus is on the %s %q", n.role, n.name)
	}
	// Without a connection it says so, and says when all is saved again.
	w.Offline(true)
	press("c")
	status("Not saved yet: there is no connection")
	w.Offline(false)
	status("All saved.")
	tab("textbox", "Remark")
	press("heard, not seen")
	tab("button", "Submit and lock")
	press("\r")
	at(3)
	if n := focused(); n.role != "heading" || !strings.HasPrefix(n.name, "Case 3") {
		t.Errorf("a new case begins at the %s %q", n.role, n.name)
	}
	var kept []string
	for _, r := range b.log.Rated() {
		kept = append(kept, fmt.Sprintf("%d %v %v %v %s", r.Position, r.Submitted, r.Values["CF"], r.Values["CA"], r.Remark))
	}
	want := []string{"1 true [2] [] ", "2 true [4] [cannot] heard, not seen"}
	if !slices.Equal(kept, want) {
		t.Errorf("kept is %q, want %q", kept, want)
	}
	w.Fine()
}
