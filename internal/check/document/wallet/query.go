package wallet

import (
	"slices"
	"strconv"
)

// credentialID names a kind of document in a query and its answer.
var credentialID = map[string]string{DocTypeMDL: "licence", DocTypeProofOfAge: "age", DocTypePhotoID: "photo-id",
	DocTypeIDCard: "id-card", DocTypePID: "pid"}

// statedAges are the ages for which most documents have a statement.
var statedAges = []int{18, 21}

// query asks for one of the given kinds of documents, and for one statement in it: the
// statement for the target age, or a common one for a higher age.
func query(targetAge int, docTypes ...string) dcqlQuery {
	var q dcqlQuery
	var options [][]string
	for _, docType := range docTypes {
		q.Credentials = append(q.Credentials, queryFor(targetAge, docType))
		options = append(options, []string{credentialID[docType]})
	}
	if len(options) > 1 {
		q.Sets = []dcqlSet{{options}}
	}
	return q
}

// queryFor asks for one kind of document. For a PID it also asks for the birth date,
// which is used if the PID has no statement of age.
func queryFor(targetAge int, docType string) dcqlCredential {
	credential := dcqlCredential{ID: credentialID[docType], Format: formatMdoc, Meta: dcqlMeta{DocType: docType}}
	ask := func(id string, path ...string) {
		credential.Claims = append(credential.Claims, dcqlClaim{ID: id, Path: path})
		credential.ClaimSets = append(credential.ClaimSets, []string{id})
	}
	for _, age := range alternatives(targetAge) {
		if docType == DocTypePID {
			ask(ageElement(age), claimOver, strconv.Itoa(age))
		} else {
			ask(ageElement(age), namespaces[docType], ageElement(age))
		}
	}
	if docType == DocTypePID {
		credential.Format, credential.Meta = formatSDJWT, dcqlMeta{Types: onlyPID}
		ask(claimBirth, claimBirth)
	}
	if len(credential.ClaimSets) == 1 {
		credential.Claims[0].ID, credential.ClaimSets = "", nil
	}
	return credential
}

// onlyPID is the kind of document that comes as an SD-JWT.
var onlyPID = []string{DocTypePID}

// alternatives returns the ages whose statements prove the target age, the least
// revealing first.
func alternatives(targetAge int) []int {
	ages := []int{targetAge}
	if slices.Contains(statedAges, targetAge) {
		return ages
	}
	for _, age := range statedAges {
		if age > targetAge {
			ages = append(ages, age)
		}
	}
	return ages
}

// query asks for one of the exchange's kinds of documents from trusted issuers.
func (e Exchange) query(targetAge int) dcqlQuery {
	q := query(targetAge, e.docTypes...)
	for i, docType := range e.docTypes {
		if ids := e.authority[docType]; len(ids) > 0 {
			q.Credentials[i].Trusted = []dcqlTrust{{"aki", ids}}
		}
	}
	return q
}
