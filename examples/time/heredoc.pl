# A page as many prints, a quoted text, a here document
# Answers: the mod_perl guide, Performance Tuning, where it prints a page by many calls of print, by
# qq and by a here document.
# Learn: one text with the variables inside is as fast as it is readable.

# results: equal

use strict;
use warnings;

my ($title, $link) = ('Hello', 'foo.html');

sub many_prints {
    print "<body>\n";
    print "<h1>$title</h1>\n";
    print "<a href=\"$link\">foo</a>\n";
    print "</body>\n";
    return;
}
sub quoted { print qq{<body>\n<h1>$title</h1>\n<a href="$link">foo</a>\n</body>\n}; return }
sub here_document {
    print <<"END";
<body>
<h1>$title</h1>
<a href="$link">foo</a>
</body>
END
    return;
}
sub escaped { print "<body>\n<h1>$title</h1>\n<a href=\"$link\">foo</a>\n</body>\n"; return }
