<?php
// The page that a visitor without a pass sees. page() gives $status, $text and $to.
declare(strict_types=1);

namespace Agegate\WordPress;

defined("ABSPATH") || exit;
?><!doctype html>
<html <?php language_attributes(); ?>>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title><?php echo esc_html(get_bloginfo("name")); ?></title>
<style>
:root { color-scheme: light dark }
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 15vh auto; padding: 0 1rem }
button { font: inherit; padding: .6rem 1.2rem }
</style>
<main>
<h1><?php echo esc_html(get_bloginfo("name")); ?></h1>
<p><?php echo esc_html($text); ?>
<form method="post" action="<?php echo esc_url(add_query_arg("agegate", "begin", home_url("/"))); ?>">
<input type="hidden" name="to" value="<?php echo esc_attr($to); ?>">
<p><button><?php esc_html_e("Confirm my age", "agegate"); ?></button>
</form>
<p><?php the_privacy_policy_link(); ?>
</main>
