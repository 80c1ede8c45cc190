package door

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestClothes: the page has the site's logo, colour, links and languages, and nothing from
// elsewhere.
func TestClothes(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	logo := filepath.Join(t.TempDir(), "logo")
	if err := os.WriteFile(logo, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newTestDoor(t, map[string]string{"DOOR_NAME": "Forum", "DOOR_COLOUR": "#7A2F9C", "DOOR_LOGO": logo,
		"DOOR_PRIVACY": "https://forum.example/privacy", "DOOR_EXIT": "https://elsewhere.example/"})
	get := func(target string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Accept", "text/html")
		r.Header.Set("Accept-Language", "de")
		d.ServeHTTP(w, r)
		return w
	}
	asked := get(Prefix + "ask?lang=fr&to=%2Fthread%3Fa%3D1%26b")
	body := asked.Body.String()
	for _, part := range []string{`lang="fr"`, `<img src="/_door/logo" alt="Forum">`, `--button: #7a2f9c; --on-button: #fff`,
		`href="https://forum.example/privacy"`, `href="https://elsewhere.example/"`, `name="to" value="/thread?a=1&amp;b"`,
		`action="/_door/begin?lang=fr"`, `href="/_door/ask?lang=zh-Hans&amp;to=%2fthread%3fa%3d1%26b"`, `>Deutsch</a>`} {
		if asked.Code != http.StatusForbidden || !strings.Contains(body, part) {
			t.Errorf("%d, lacks %s:\n%s", asked.Code, part, body)
		}
	}
	if strings.Count(body, `aria-current="true"`) != 1 || strings.Count(body, "/_door/ask?") != 15 {
		t.Errorf("languages:\n%s", body)
	}
	for _, other := range []string{"", "xx", "en-GB", "../fr"} {
		if body := get(Prefix + "ask?to=/&lang=" + other).Body.String(); !strings.Contains(body, `lang="de"`) {
			t.Errorf("the language %q:\n%s", other, body)
		}
	}
	if w := get(Prefix + "logo"); w.Header().Get("Content-Type") != "image/png" || !bytes.Equal(w.Body.Bytes(), picture.Bytes()) {
		t.Errorf("the logo is answered %d, %s", w.Code, w.Header().Get("Content-Type"))
	}
	svg := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(svg, []byte("<svg onload='alert(1)'/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"DOOR_LOGO": svg, "DOOR_COLOUR": "red;}", "DOOR_PRIVACY": "javascript:alert(1)"} {
		if _, err := Load(settings(map[string]string{name: value})); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// TestColours: the button's text is readable on any colour.
func TestColours(t *testing.T) {
	t.Parallel()
	light := func(hex string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
			v := float64(n) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 5 {
			for b := 0; b < 256; b += 15 {
				colour := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				on, ground := 1.0, light(colour)
				if strings.Contains((&Config{Colour: colour}).paint(), "--on-button: #000") {
					on = 0
				}
				if contrast := (max(on, ground) + 0.05) / (min(on, ground) + 0.05); contrast < 4.5 {
					t.Fatalf("%s: %.2f", colour, contrast)
				}
			}
		}
	}
}
