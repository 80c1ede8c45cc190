package mail

import (
	"strconv"
	"strings"
)

// text is a mail's subject and body, with {tenant}, {by}, {role}, {operator}, {link}, {host} and {left}.
type text struct{ subject, body string }

var english = map[Kind]text{
	Invitation: {
		"Invitation to {tenant}",
		"{by} invites you to {tenant} (role: {role}). {tenant} checks with agegate{operator} that its customers are old " +
			"enough; you get into its dashboard.\n\nOpen this link to join. It works once, for 72 hours:\n{link}\n\nIf you do " +
			"not know why you got this, delete it.\n",
	},
	Recovery: {
		"Get back into your account",
		"The operator of this gateway made a link with which you choose a new way into your account. It works once, for " +
			"one hour:\n{link}\n\nIf you did not ask for it, tell the operator and do not open it.\n",
	},
	EndpointDisabled: {
		"{tenant}: no more webhooks are sent to {host}",
		"The webhooks of {tenant} to {host} failed for so long, or were refused for good, that no more are sent. New " +
			"events wait until somebody enables the endpoint again:\n{link}\n",
	},
	CreditLow: {
		"{tenant}: {left} checks are left",
		"{tenant} has {left} checks left, free and paid together. Without any, new live sessions are refused:\n{link}\n",
	},
}

var german = map[Kind]text{
	Invitation: {
		"Einladung zu {tenant}",
		"{by} lädt Sie zu {tenant} ein (Rolle: {role}). Mit agegate{operator} prüft {tenant} das Alter seiner Kunden; Sie " +
			"bekommen Zugang zum Dashboard.\n\nÖffnen Sie diesen Link, um beizutreten. Er gilt einmal und 72 Stunden:\n" +
			"{link}\n\nWenn Sie damit nichts anfangen können, löschen Sie diese Mail.\n",
	},
	Recovery: {
		"Zurück in Ihr Konto",
		"Der Betreiber dieses Gateways hat einen Link angelegt, mit dem Sie einen neuen Zugang zu Ihrem Konto wählen. Er " +
			"gilt einmal und eine Stunde:\n{link}\n\nWenn Sie nicht darum gebeten haben, sagen Sie es dem Betreiber und " +
			"öffnen Sie ihn nicht.\n",
	},
	EndpointDisabled: {
		"{tenant}: keine Webhooks mehr an {host}",
		"Die Webhooks von {tenant} an {host} sind so lange gescheitert oder endgültig abgelehnt worden, dass keine mehr " +
			"gesendet werden. Neue Ereignisse warten, bis jemand den Endpunkt wieder einschaltet:\n{link}\n",
	},
	CreditLow: {
		"{tenant}: noch {left} Prüfungen",
		"{tenant} hat noch {left} Prüfungen, freie und bezahlte zusammen. Ohne sie werden neue Live-Sitzungen " +
			"abgelehnt:\n{link}\n",
	},
}

var germanRoles = map[string]string{"owner": "Inhaber", "developer": "Entwickler", "support": "Support",
	"compliance": "Compliance", "viewer": "Betrachter"}

// letter writes the message in its language. operator is who runs the gateway, or empty.
func (m Message) letter(operator string) letter {
	texts, run := english, ", run by "
	if m.Locale == "de" || strings.HasPrefix(m.Locale, "de-") {
		texts, run, m.Role = german, ", betrieben von ", germanRoles[m.Role]
	}
	switch operator {
	case m.Tenant:
		operator = ""
	case "":
	default:
		operator = run + operator + ","
	}
	fill := strings.NewReplacer("{tenant}", m.Tenant, "{by}", m.By, "{link}", m.Link, "{host}", m.Host, "{left}",
		strconv.FormatInt(m.Left, 10), "{role}", m.Role, "{operator}", operator)
	return letter{To: m.To, Subject: fill.Replace(texts[m.Kind].subject), Body: fill.Replace(texts[m.Kind].body)}
}
