//===- VersionedReader.cpp - Objects whose keys depend on the version of the file -===//

#include "VersionedReader.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;
using namespace llmmem::planning;

/// Joins the keys of members, as messages name them.
static std::string keysOf(JsonMembers members) {
  return llvm::join(llvm::map_range(members, [](const JsonMember &it) { return it.key.name; }),
                    ", ");
}

bool VersionedReader::members(llvm::StringRef what, JsonMembers both, JsonMembers ofVersion1,
                              JsonMembers ofVersion2) {
  llvm::SmallVector<const JsonMember *, 8> read;
  const bool isRead = reader.object([&](llvm::StringRef key) {
    const JsonMembers own = isVersion2() ? ofVersion2 : ofVersion1;
    auto isNamed = [&](const JsonMember &it) { return it.key.name == key; };
    for (JsonMembers members : {both, own})
      if (const auto *found = llvm::find_if(members, isNamed); found != members.end()) {
        read.push_back(found);
        return reader.member(*found);
      }
    if (llvm::any_of(isVersion2() ? ofVersion1 : ofVersion2, isNamed))
      return reader.fail("key '" + key + "' belongs to version " + (isVersion2() ? "1" : "2") +
                         " of the format" +
                         (isVersion2() ? "; expected one of " + keysOf(both) + ", " + keysOf(own)
                                       : llvm::Twine("; give \"version\": 2 before it")));
    return reader.unknownKey(key, keysOf(both) + (own.empty() ? "" : ", ") + keysOf(own));
  });
  return isRead && reader.hasRequired({both, isVersion2() ? ofVersion2 : ofVersion1}, read, what);
}
