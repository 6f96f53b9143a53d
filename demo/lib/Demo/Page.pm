# The frame of the pages that Perl makes: head, navigation, foot. Text from outside passes escape().
package Demo::Page;
use strict;
use warnings;
use utf8;

my %ESCAPE = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;', q{'} => '&#39;');

my @PAGES = (
    ['', 'What it is'], ['ladder.html', 'The ladder, measured'], ['beside.html', 'Beside Apache'],
    ['scripts/guestbook.pl', 'Guestbook'], ['psgi/', 'PSGI'],
);

sub escape {
    my ($text) = @_;
    return $text =~ s/([&<>"'])/$ESCAPE{$1}/gr;
}

# title and content are HTML. root is the path from the page to the site's root, such as "../".
sub html {
    my (%page) = @_;
    my $navigation = join "\n", map {
        my ($address, $name) = @$_;
        my $current = $address eq ($page{address} // '') ? ' aria-current="page"' : '';
        qq(    <a href="$page{root}$address"$current>$name</a>);
    } @PAGES;
    return <<"END";
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$page{title} · Mehari</title>
<link rel="icon" href="$page{root}camel.svg" type="image/svg+xml">
<link rel="stylesheet" href="$page{root}style.css">
</head>
<body>
<header>
  <a class="brand" href="$page{root}"><img src="$page{root}camel.svg" alt="" width="100" height="70">Mehari</a>
  <nav aria-label="Pages">
$navigation
  </nav>
</header>
<main>
$page{content}
</main>
<footer>Everything on these pages comes from this server: no fonts, scripts or pictures from elsewhere.</footer>
</body>
</html>
END
}

# Returns the rows of a table of names and values, both plain text.
sub table {
    my @rows = @_;
    my $body = join "\n", map { '<tr><th scope="row"><code>' . escape($_->[0]) . '</code></th><td><code>' . escape($_->[1]) . '</code></td></tr>' } @rows;
    return qq(<div class="scroll"><table class="facts">\n<tbody>\n$body\n</tbody></table></div>);
}

1;
