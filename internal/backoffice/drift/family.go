package drift

import "strings"

// Family is a family of browsers. Families differ in their cameras and in how they make
// pictures. The server derives the family from the User-Agent header.
type Family string

// The families. All stands for them together.
const (
	ChromeDesktop Family = "chrome_desktop"
	ChromeAndroid Family = "chrome_android"
	Samsung       Family = "samsung"
	Edge          Family = "edge"
	Firefox       Family = "firefox"
	SafariIOS     Family = "safari_ios" // every browser of iOS: they share one engine and one camera
	SafariMac     Family = "safari_mac"
	Other         Family = "other"
	All           Family = "all"
)

// Families returns the families that checks are counted in, without All.
func Families() []Family {
	return []Family{ChromeAndroid, ChromeDesktop, Edge, Firefox, SafariIOS, SafariMac, Samsung, Other}
}

// maxAgent is how many bytes of a User-Agent are read. Those of browsers are shorter.
const maxAgent = 512

// marks are parts of a User-Agent. The first one that matches decides, because most
// browsers also name other browsers that they want to pass for.
var marks = []struct {
	part   string
	family Family
}{
	{"iPhone", SafariIOS}, {"iPad", SafariIOS}, {"SamsungBrowser/", Samsung}, {"Firefox/", Firefox},
	{"Edg/", Edge}, {"EdgA/", Edge}, {"OPR/", Other},
}

// FamilyOf returns the family of the browser that sent a User-Agent, or Other for an
// unknown browser.
func FamilyOf(userAgent string) Family {
	agent := userAgent[:min(len(userAgent), maxAgent)]
	for _, m := range marks {
		if strings.Contains(agent, m.part) {
			return m.family
		}
	}
	switch {
	case strings.Contains(agent, "Chrome/") && strings.Contains(agent, "Android"):
		return ChromeAndroid
	case strings.Contains(agent, "Chrome/"):
		return ChromeDesktop
	case strings.Contains(agent, "Safari/") && strings.Contains(agent, "Macintosh"):
		return SafariMac
	}
	return Other
}
