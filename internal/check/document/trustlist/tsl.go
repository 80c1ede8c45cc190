package trustlist

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a list of age verification providers and its entries must contain. The EU's test
// lists use other hosts than its real ones.
const (
	typeAV    = "/av/TrstSvc/TrustedList/TSLType/AVTL"
	serviceAV = "/av/TrstSvc/Svctype/PAA"
)

// grantedStatuses are the ends of the statuses of trusted entries.
var grantedStatuses = []string{"/TrustedList/Svcstatus/recognized", "/TrustedList/Svcstatus/granted"}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parseXML verifies a list in XML (ETSI TS 119 612).
func parseXML(raw []byte, signers []*x509.Certificate, now time.Time) (list List, err error) {
	raw = bytes.TrimPrefix(raw, byteOrderMark)
	if err := checkMarkup(raw); err != nil {
		return list, err
	}
	content, err := verifyXAdES(raw, signers, now)
	if err != nil {
		return list, err
	}
	root, err := parseNode(content)
	if err != nil {
		return list, err
	}
	if list, err = readScheme(root); err != nil {
		return list, err
	}
	list.Digest = sha256.Sum256(content)
	providers := root.all(nsTSL, "TrustServiceProviderList")
	if len(providers) > 1 {
		return list, refuse(ReasonMalformed)
	}
	for _, p := range providers {
		for _, provider := range p.all(nsTSL, "TrustServiceProvider") {
			if err := list.addProvider(provider, now); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// readScheme reads what a list says about itself.
func readScheme(root node) (list List, err error) {
	scheme, ok := root.one(nsTSL, "SchemeInformation")
	if !ok || !root.is(nsTSL, "TrustServiceStatusList") {
		return list, refuse(ReasonMalformed)
	}
	if !strings.HasSuffix(scheme.text(nsTSL, "TSLType"), typeAV) {
		return list, refuse(ReasonType)
	}
	if hasCriticalExtension(scheme, "SchemeExtensions") {
		return list, refuse(ReasonMalformed)
	}
	version := scheme.text(nsTSL, "TSLVersionIdentifier")
	list.Sequence, err = strconv.ParseInt(scheme.text(nsTSL, "TSLSequenceNumber"), 10, 64)
	if err != nil || list.Sequence < 1 || version != "5" && version != "6" {
		return list, refuse(ReasonMalformed)
	}
	if list.Issued, err = readTime(scheme.text(nsTSL, "ListIssueDateTime")); err != nil {
		return list, refuse(ReasonIssued)
	}
	if list.NextUpdate, err = readTime(scheme.text(nsTSL, "NextUpdate", "dateTime")); err != nil {
		return list, refuse(ReasonNextUpdate)
	}
	return list, nil
}

// readTime reads a time, which must name its zone.
func readTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

// addProvider adds the services of a provider that issue proofs of age. It reads
// what they are now, not their history.
func (l *List) addProvider(provider node, now time.Time) error {
	information, _ := provider.one(nsTSL, "TSPInformation")
	name := preferred(information, "TSPName")
	services, _ := provider.one(nsTSL, "TSPServices")
	country := ""
	if addresses, ok := information.one(nsTSL, "TSPAddress", "PostalAddresses"); ok {
		for _, address := range addresses.all(nsTSL, "PostalAddress") {
			country = address.text(nsTSL, "CountryName")
		}
	}
	for _, service := range services.all(nsTSL, "TSPService") {
		info, ok := service.one(nsTSL, "ServiceInformation")
		if !ok || !strings.HasSuffix(info.text(nsTSL, "ServiceTypeIdentifier"), serviceAV) {
			continue
		}
		status := info.text(nsTSL, "ServiceStatus")
		since, err := readTime(info.text(nsTSL, "StatusStartingTime"))
		granted := slices.ContainsFunc(grantedStatuses, func(end string) bool { return strings.HasSuffix(status, end) }) &&
			err == nil && !since.After(now) && !hasCriticalExtension(info, "ServiceInformationExtensions")
		certificates := certificatesOf(info)
		if granted && len(certificates) == 0 {
			l.Skipped++
		}
		for _, der := range certificates {
			entry := Entry{Name: name, Country: country, Granted: granted, Status: lastPart(status)}
			if err := l.add(entry, der, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasCriticalExtension reports whether a list or a service has an extension that a
// reader must understand. The package understands none.
func hasCriticalExtension(n node, name string) bool {
	for _, extensions := range n.all(nsTSL, name) {
		for _, e := range extensions.Children {
			if critical := strings.TrimSpace(e.attr("Critical")); critical != "false" && critical != "0" {
				return true
			}
		}
	}
	return false
}

// certificatesOf returns the certificates of a service. A certificate that is not
// base64 is empty.
func certificatesOf(info node) (certificates [][]byte) {
	identity, _ := info.one(nsTSL, "ServiceDigitalIdentity")
	for _, id := range identity.all(nsTSL, "DigitalId") {
		for _, certificate := range id.all(nsTSL, "X509Certificate") {
			der, _ := decodeBase64(certificate.Chardata)
			certificates = append(certificates, der)
		}
	}
	return certificates
}

// preferred returns the English name below an element, or else the first.
func preferred(n node, path string) (name string) {
	names, _ := n.one(nsTSL, path)
	for _, candidate := range names.all(nsTSL, "Name") {
		for _, a := range candidate.Attrs {
			if a.Name.Local == "lang" && a.Value == "en" {
				return candidate.Chardata
			}
		}
		if name == "" {
			name = candidate.Chardata
		}
	}
	return name
}
