package assets

import (
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance is the relative luminance of a colour such as #faf9f7 (WCAG 2.2).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("%s is no colour: %v", colour, err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestContrast computes how well words, borders and plots stand out from what is behind them.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := fs.ReadFile(Design(), "tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("tokens.css has no dark colours")
	}
	const text, border = 4.5, 3
	pairs := []struct {
		front   string
		least   float64
		surface []string
	}{
		{"text", text, []string{"ground", "panel", "raised", "sunken"}},
		{"soft", text, []string{"ground", "panel", "raised", "sunken"}},
		{"accent", text, []string{"ground", "panel", "tint"}},
		{"on-accent", text, []string{"accent"}},
		{"on-ink", text, []string{"ink", "ink-strong"}},
		{"good", text, []string{"panel", "good-tint"}},
		{"bad", text, []string{"panel", "bad-tint"}},
		{"wait", text, []string{"panel", "wait-tint"}},
		{"field", border, []string{"ground", "panel"}},
		{"plot-1", border, []string{"panel"}}, {"plot-2", border, []string{"panel"}}, {"plot-3", border, []string{"panel"}},
		{"plot-4", border, []string{"panel"}}, {"plot-5", border, []string{"panel"}}, {"plot-6", border, []string{"panel"}},
	}
	variable := regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`)
	for scheme, block := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range variable.FindAllStringSubmatch(block, -1) {
			colours[m[1]] = m[2]
		}
		for _, p := range pairs {
			for _, surface := range p.surface {
				if colours[p.front] == "" || colours[surface] == "" {
					t.Fatalf("%s: tokens.css has no --%s or no --%s", scheme, p.front, surface)
				}
				a, b := luminance(t, colours[p.front]), luminance(t, colours[surface])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < p.least {
					t.Errorf("%s: --%s on --%s has a contrast of %.2f, less than %.1f", scheme, p.front, surface, ratio, p.least)
				}
			}
		}
	}
}
