// Terminal prints for people what commands found: tables and lines.

package cli
